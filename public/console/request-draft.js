/** Saves the unsent request, and restores it when the user returns to the console in this tab. */
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
    return null; // not written by this script
  }
}

/**
 * Replaces the draft, without credentials.
 * @param {Store} storage
 * @param {import('./request-rules.js').ComposedRequest} request
 * @returns {boolean} Whether it was stored.
 */
export function keepDraft(storage, request) {
  try {
    storage.setItem(KEY, JSON.stringify(toKept(request)));
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
