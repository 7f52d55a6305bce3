/** What every page's scripts do. Each part finds its own place in the page, and does nothing where there is none. */
import { startExports } from './export.js';
import { startFind } from './find.js';
import { startLoadPages } from './load-all-pages.js';
import { startLoadingBar } from './loading-bar.js';
import { showLocalTimes } from './local-times.js';
import { startOfflineNotice } from './offline-notice.js';
import { addRequestIdCopy } from './request-id-copy.js';
import { startRetryCountdown } from './retry-countdown.js';
import { startSessionWatch } from './session-watch.js';
import { keepOwnStorage } from './own-storage.js';

keepOwnStorage();
showLocalTimes(document);
startLoadPages(startFind());
startLoadingBar();
startOfflineNotice();
addRequestIdCopy();
startRetryCountdown();
startSessionWatch();
startExports(document);
