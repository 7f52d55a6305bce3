/** The workspace browser. Each script does nothing on a page without its elements. */
import { startExports } from './export.ts';
import { startFind } from './find.ts';
import { startLoadAllPages } from './load-all-pages.ts';
import { showLocalTimes } from './local-times.ts';
import { startPage } from './page.ts';

startPage();
showLocalTimes(document);
startLoadAllPages(startFind());
startExports(document);
