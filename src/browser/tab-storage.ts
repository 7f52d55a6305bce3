/** A tab's storage (`sessionStorage`), which belongs to one session. */

const KEY = 'session';

/** Replaces `sessionStorage`, which throws if the browser denies access to storage. */
const NO_STORAGE = { getItem: () => null, setItem() {}, removeItem() {}, clear() {} };

/** Returns this tab’s storage, or a storage that keeps nothing if the browser denies access. */
export function tabStorage(): Pick<Storage, keyof typeof NO_STORAGE> {
  try {
    return sessionStorage;
  } catch {
    return NO_STORAGE;
  }
}

const ownName = () => document.body.dataset['session'] ?? '';

/** Clears storage left by another session, and all storage on a signed-out page. Call this before reading the storage. */
export function clearForeignStorage() {
  // An error page does not name its session. If the page has a *Sign out* button, the user is signed in.
  if (ownName() === '' && document.querySelector('form[action="/auth/logout"]') !== null) return;
  const storage = tabStorage();
  if (storage.getItem(KEY) !== ownName()) storage.clear();
}

/** Records that the storage belongs to the page's session. Call this after storing a value. */
export function claimStorage(storage: Pick<Storage, 'setItem'>) {
  storage.setItem(KEY, ownName());
}
