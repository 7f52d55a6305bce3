/** Saves the unsent request and restores it when the user returns to the console in this tab. */
import { isStoredRequest, toStoredRequest } from './request-history.js';

/** @typedef {import('./request-history.js').StoredRequest} StoredRequest */
/** @typedef {import('./request-history.js').Store} Store */

const KEY = 'console-draft';

/**
 * @param {Store} storage
 * @returns {StoredRequest | null}
 */
export function readDraft(storage) {
  try {
    const stored = /** @type {unknown} */ (JSON.parse(storage.getItem(KEY) ?? 'null'));
    return isStoredRequest(stored) ? stored : null;
  } catch {
    return null; // not written by this script
  }
}

/**
 * Replaces the stored draft. Omits credentials.
 * @param {Store} storage
 * @param {import('./request-rules.js').ComposedRequest} request
 * @returns {boolean} Whether the storage accepted the value.
 */
export function saveDraft(storage, request) {
  try {
    storage.setItem(KEY, JSON.stringify(toStoredRequest(request)));
    return true;
  } catch {
    clearDraft(storage); // the storage is full, and the older draft no longer matches the form
    return false;
  }
}

/** @param {Store} storage */
export function clearDraft(storage) {
  storage.removeItem(KEY);
}
