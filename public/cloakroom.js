/** What every page's scripts do. Each part finds its own place in the page, and does nothing where there is none. */
import { startFind } from './find.js';
import { startLoadPages } from './load-pages.js';
import { showLocalTimes } from './local-times.js';

showLocalTimes(document);
startLoadPages(startFind());
