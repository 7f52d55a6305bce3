/** Shows a notice while the browser is offline. The session is not affected. */
import { hideNotice, showNotice } from './notices.ts';

const NAME = 'offline';

/** Shows the notice whenever the browser goes offline, and hides it afterwards. */
export function startOfflineNotice() {
  const update = () => {
    if (navigator.onLine) hideNotice(NAME);
    else showNotice(NAME, 'You are offline. This page may be out of date.');
  };
  addEventListener('online', update);
  addEventListener('offline', update);
  update();
}
