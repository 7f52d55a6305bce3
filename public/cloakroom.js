/** Starts the scripts that every page loads. Each script does nothing on a page without its elements. */
import { startExports } from './export.js';
import { startFind } from './find.js';
import { startLoadAllPages } from './load-all-pages.js';
import { startLoadingBar } from './loading-bar.js';
import { showLocalTimes } from './local-times.js';
import { startOfflineNotice } from './offline-notice.js';
import { addRequestIdCopy } from './request-id-copy.js';
import { startRetryCountdown } from './retry-countdown.js';
import { startSessionWatch } from './session-watch.js';
import { clearForeignStorage } from './tab-storage.js';

clearForeignStorage();
showLocalTimes(document);
startLoadAllPages(startFind());
startLoadingBar();
startOfflineNotice();
addRequestIdCopy();
startRetryCountdown();
startSessionWatch();
startExports(document);
