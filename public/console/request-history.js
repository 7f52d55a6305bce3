/** The requests of this tab, without their answers. Signing out empties it (`Clear-Site-Data`). */
import { isKept } from './request-rules.js';

/** @typedef {import('./request-rules.js').ComposedRequest} ComposedRequest */

/** @typedef {{ getItem(key: string): string | null, setItem(key: string, value: string): void, removeItem(key: string): void }} Store */

const KEY = 'console-history';
const MOST = 50;
/** A longer body is not kept: what a tab may store is little. */
const LONGEST_BODY = 20_000;

/**
 * The latest first.
 * @param {Store} storage
 * @returns {ComposedRequest[]}
 */
export function readHistory(storage) {
  try {
    const stored = /** @type {unknown} */ (JSON.parse(storage.getItem(KEY) ?? '[]'));
    return Array.isArray(stored) ? stored.filter(isRequest).slice(0, MOST) : [];
  } catch {
    return []; // somebody else has written there, or nothing may be stored
  }
}

/**
 * Puts a request first, in the place of an equal one, and never a credential with it.
 * @param {Store} storage
 * @param {ComposedRequest} request
 * @returns {boolean} Whether it is kept.
 */
export function remember(storage, request) {
  const kept = {
    ...request,
    headers: request.headers.filter(isKept),
    body: request.body.length > LONGEST_BODY ? '' : request.body,
  };
  const others = readHistory(storage).filter((other) => JSON.stringify(other) !== JSON.stringify(kept));
  try {
    storage.setItem(KEY, JSON.stringify([kept, ...others].slice(0, MOST)));
    return true;
  } catch {
    storage.removeItem(KEY); // full: rather none than one that no longer grows
    return false;
  }
}

/** @param {Store} storage */
export function forgetHistory(storage) {
  storage.removeItem(KEY);
}

/**
 * @param {unknown} value
 * @returns {value is ComposedRequest}
 */
function isRequest(value) {
  if (typeof value !== 'object' || value === null) return false;
  const { method, path, query, headers, contentType, body } = /** @type {Record<string, unknown>} */ (value);
  return (
    [method, path, contentType, body].every((text) => typeof text === 'string') &&
    arePairs(query) &&
    arePairs(headers)
  );
}

/** @param {unknown} value */
function arePairs(value) {
  return (
    Array.isArray(value) &&
    value.every(
      (pair) => Array.isArray(pair) && pair.length === 2 && pair.every((text) => typeof text === 'string'),
    )
  );
}
