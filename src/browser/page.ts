/** The scripts on every page except the landing page, which has none. */
import { startLoadingBar } from './loading-bar.ts';
import { startOfflineNotice } from './offline-notice.ts';
import { startSessionWatch } from './session-watch.ts';
import { clearForeignStorage } from './tab-storage.ts';

/** Call this before any script reads the tab's storage. */
export function startPage() {
  clearForeignStorage();
  startLoadingBar();
  startOfflineNotice();
  startSessionWatch();
}
