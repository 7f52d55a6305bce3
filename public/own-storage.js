/** What a tab remembers (sessionStorage) is its session's: the next person finds nothing of it. */
import { tabStorage } from './tab-storage.js';

const KEY = 'session';

const ownName = () => document.body.dataset['session'] ?? '';

/** Empties the tab's storage where it is from another session, or nobody is signed in; before any other script reads it. */
export function keepOwnStorage() {
  // An error page does not say whose it is; somebody is signed in where one can sign out.
  if (ownName() === '' && document.querySelector('form[action="/auth/logout"]') !== null) return;
  const storage = tabStorage();
  if (storage.getItem(KEY) !== ownName()) storage.clear();
}

/**
 * Says whose the tab's storage is, beside the first thing that is kept there: an empty one is nobody's.
 * @param {Pick<Storage, 'setItem'>} storage
 */
export function claimStorage(storage) {
  storage.setItem(KEY, ownName());
}
