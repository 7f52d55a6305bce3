/** Saves the unsent request and restores it when the user returns to the console in this tab. */
import { isStoredRequest, toStoredRequest, type StoredRequest, type Store } from './request-history.ts';
import type { ComposedRequest } from './request-rules.ts';

const KEY = 'console-draft';

/** Returns the draft that this tab has stored. Returns null if the tab has no draft. */
export function readDraft(storage: Store): StoredRequest | null {
  try {
    const stored = JSON.parse(storage.getItem(KEY) ?? 'null') as unknown;
    return isStoredRequest(stored) ? stored : null;
  } catch {
    return null; // not written by this script
  }
}

/**
 * Replaces the stored draft. Omits credentials.
 * @returns Whether the storage accepted the value.
 */
export function saveDraft(storage: Store, request: ComposedRequest): boolean {
  try {
    storage.setItem(KEY, JSON.stringify(toStoredRequest(request)));
    return true;
  } catch {
    clearDraft(storage); // the storage is full, and the older draft no longer matches the form
    return false;
  }
}

/** Removes the stored draft. */
export function clearDraft(storage: Store) {
  storage.removeItem(KEY);
}
