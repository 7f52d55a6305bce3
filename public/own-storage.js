/** What a tab remembers (sessionStorage) is its session's: the next person finds nothing of it. */
import { tabStorage } from './tab-storage.js';

const KEY = 'session';

/** Empties the tab's storage where it is from another session, or nobody is signed in; before any other script reads it. */
export function keepOwnStorage() {
  const session = document.body.dataset['session'] ?? '';
  // An error page does not say whose it is; somebody is signed in where one can sign out.
  if (session === '' && document.querySelector('form[action="/auth/logout"]') !== null) return;
  const storage = tabStorage();
  if (storage.getItem(KEY) === session) return;
  storage.clear();
  if (session !== '') storage.setItem(KEY, session);
}
