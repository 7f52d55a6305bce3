/** The requests of this tab, without their answers. It ends with the session: the page and a sign-out (`Clear-Site-Data`) empty it. */
import { isKept } from './request-rules.js';

/** @typedef {import('./request-rules.js').ComposedRequest} ComposedRequest */

/** @typedef {{ getItem(key: string): string | null, setItem(key: string, value: string): void, removeItem(key: string): void }} Store */

/**
 * @typedef {object} KeptRequest
 * @property {ComposedRequest} request As it was composed, without credentials.
 * @property {boolean} isWhole Whether its body is kept, where it had one.
 */

/**
 * @typedef {object} Sending
 * @property {number} sentAt In ms since the epoch.
 * @property {string} outcome The status of its answer, or a word for why there was none; empty until that is known.
 */

/** @typedef {KeptRequest & Sending} PastRequest */

const KEY = 'console-history';
const MOST = 50;
/** A longer body is not kept: what a tab may store is little. */
const LONGEST_BODY = 20_000;

/**
 * The latest first.
 * @param {Store} storage
 * @returns {PastRequest[]}
 */
export function readHistory(storage) {
  try {
    const stored = /** @type {unknown} */ (JSON.parse(storage.getItem(KEY) ?? '[]'));
    return Array.isArray(stored) ? stored.filter(isPast).slice(0, MOST) : [];
  } catch {
    return []; // somebody else has written there, or nothing may be stored
  }
}

/**
 * Puts a request first, in the place of an equal one, and never a credential with it.
 * @param {Store} storage
 * @param {ComposedRequest} request
 * @param {number} sentAt In ms since the epoch.
 * @returns {boolean} Whether it is kept.
 */
export function remember(storage, request, sentAt) {
  const kept = toKept(request);
  const others = readHistory(storage).filter(
    (other) => JSON.stringify(other.request) !== JSON.stringify(kept.request),
  );
  return write(storage, [{ ...kept, sentAt, outcome: '' }, ...others]);
}

/**
 * What a tab keeps of a request: no credential, and no long body.
 * @param {ComposedRequest} request
 * @returns {KeptRequest}
 */
export function toKept(request) {
  const isWhole = request.body.length <= LONGEST_BODY;
  const headers = request.headers.filter(isKept);
  return { request: { ...request, headers, body: isWhole ? request.body : '' }, isWhole };
}

/**
 * Adds what became of the request that was sent last; nothing where it has been forgotten.
 * @param {Store} storage
 * @param {number} sentAt Its own, in ms since the epoch.
 * @param {string} outcome
 * @returns {boolean} Whether it is kept.
 */
export function noteOutcome(storage, sentAt, outcome) {
  const [latest, ...others] = readHistory(storage);
  return latest?.sentAt === sentAt && write(storage, [{ ...latest, outcome }, ...others]);
}

/** @param {Store} storage */
export function forgetHistory(storage) {
  storage.removeItem(KEY);
}

/**
 * @param {Store} storage
 * @param {readonly PastRequest[]} history
 * @returns {boolean} Whether it is kept.
 */
function write(storage, history) {
  try {
    storage.setItem(KEY, JSON.stringify(history.slice(0, MOST)));
    return true;
  } catch {
    storage.removeItem(KEY); // full: rather none than one that no longer grows
    return false;
  }
}

/**
 * @param {unknown} value
 * @returns {value is PastRequest}
 */
function isPast(value) {
  if (!isKeptRequest(value)) return false;
  const { sentAt, outcome } = /** @type {KeptRequest & Record<string, unknown>} */ (value);
  return (
    typeof sentAt === 'number' && !Number.isNaN(new Date(sentAt).valueOf()) && typeof outcome === 'string'
  );
}

/**
 * Whether it is one, whoever has written it.
 * @param {unknown} value
 * @returns {value is KeptRequest}
 */
export function isKeptRequest(value) {
  if (typeof value !== 'object' || value === null) return false;
  const { request, isWhole } = /** @type {Record<string, unknown>} */ (value);
  return isRequest(request) && typeof isWhole === 'boolean';
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
