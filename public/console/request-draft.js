/** The request that stands in the form and was not sent yet, for when this tab comes back to it. It ends as the history does. */
import { isKeptRequest, toKept } from './request-history.js';

/** @typedef {import('./request-history.js').KeptRequest} KeptRequest */
/** @typedef {import('./request-history.js').Store} Store */

const KEY = 'console-draft';

/**
 * @param {Store} storage
 * @returns {KeptRequest | null}
 */
export function readDraft(storage) {
  try {
    const stored = /** @type {unknown} */ (JSON.parse(storage.getItem(KEY) ?? 'null'));
    return isKeptRequest(stored) ? stored : null;
  } catch {
    return null; // somebody else has written there
  }
}

/**
 * In the place of the one before, and never a credential with it.
 * @param {Store} storage
 * @param {import('./request-rules.js').ComposedRequest} request
 * @returns {boolean} Whether it is kept.
 */
export function keepDraft(storage, request) {
  try {
    storage.setItem(KEY, JSON.stringify(toKept(request)));
    return true;
  } catch {
    forgetDraft(storage); // full: an older one would be another request than the form showed
    return false;
  }
}

/** @param {Store} storage */
export function forgetDraft(storage) {
  storage.removeItem(KEY);
}
