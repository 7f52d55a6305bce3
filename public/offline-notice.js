/** Says that there is no network while there is none. Nothing is concluded from it: nobody is signed out by it. */
import { hideNotice, showNotice } from './notices.js';

const NAME = 'offline';

/** Shows a notice from now on whenever the browser is offline. */
export function startOfflineNotice() {
  const tell = () => {
    if (navigator.onLine) hideNotice(NAME);
    else showNotice(NAME, 'You are offline. What you see may be out of date.');
  };
  addEventListener('online', tell);
  addEventListener('offline', tell);
  tell();
}
