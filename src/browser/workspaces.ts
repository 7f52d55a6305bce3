/** The workspace browser. Each script does nothing on a page without its elements. */
import { startExports } from './list/export.ts';
import { startFind } from './list/find.ts';
import { startLoadAllPages } from './list/load-all-pages.ts';
import { showLocalTimes } from './list/local-times.ts';
import { startPage } from './page.ts';

startPage();
showLocalTimes(document);
startLoadAllPages(startFind());
startExports(document);
