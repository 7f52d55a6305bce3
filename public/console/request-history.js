/** The history of requests sent from this tab, without responses. When the session ends, this history is deleted. */
import { isStorableHeader } from './request-rules.js';

/** @typedef {import('./request-rules.js').ComposedRequest} ComposedRequest */

/** @typedef {{ getItem(key: string): string | null, setItem(key: string, value: string): void, removeItem(key: string): void }} Store */

/**
 * @typedef {object} StoredRequest
 * @property {ComposedRequest} request Without credentials.
 * @property {boolean} isWhole False if its body was too long to keep.
 */

/**
 * @typedef {object} Sending
 * @property {number} sentAt In ms since the epoch.
 * @property {string} outcome A status code, or a phrase if there was no response. Empty until the request has ended.
 */

/** @typedef {StoredRequest & Sending} SentRequest */

const KEY = 'console-history';
const MAX_REQUESTS = 50;
/** Maximum length of a body in the history, because the storage of a tab is small. */
const MAX_BODY_LENGTH = 20_000;

/**
 * Reads the requests in the history, newest first.
 * @param {Store} storage
 * @returns {SentRequest[]}
 */
export function readHistory(storage) {
  try {
    const stored = /** @type {unknown} */ (JSON.parse(storage.getItem(KEY) ?? '[]'));
    return Array.isArray(stored) ? stored.filter(isSentRequest).slice(0, MAX_REQUESTS) : [];
  } catch {
    return []; // not written by this script
  }
}

/**
 * Adds a request at the top, without its credentials. Removes any identical older request.
 * @param {Store} storage
 * @param {ComposedRequest} request
 * @param {number} sentAt In ms since the epoch.
 * @returns {boolean} Whether the storage accepted the value.
 */
export function addToHistory(storage, request, sentAt) {
  const stored = toStoredRequest(request);
  const others = readHistory(storage).filter(
    (other) => JSON.stringify(other.request) !== JSON.stringify(stored.request),
  );
  return write(storage, [{ ...stored, sentAt, outcome: '' }, ...others]);
}

/**
 * Removes the credentials, and the body if it is too long.
 * @param {ComposedRequest} request
 * @returns {StoredRequest}
 */
export function toStoredRequest(request) {
  const isWhole = request.body.length <= MAX_BODY_LENGTH;
  const headers = request.headers.filter(isStorableHeader);
  return { request: { ...request, headers, body: isWhole ? request.body : '' }, isWhole };
}

/**
 * Records the outcome of a request if that request is still the newest in the history.
 * @param {Store} storage
 * @param {number} sentAt When the request was sent, in ms since the epoch.
 * @param {string} outcome
 * @returns {boolean} Whether the storage accepted the value.
 */
export function recordOutcome(storage, sentAt, outcome) {
  const [latest, ...others] = readHistory(storage);
  return latest?.sentAt === sentAt && write(storage, [{ ...latest, outcome }, ...others]);
}

/** @param {Store} storage */
export function clearHistory(storage) {
  storage.removeItem(KEY);
}

/**
 * @param {Store} storage
 * @param {readonly SentRequest[]} history
 * @returns {boolean} Whether the storage accepted the value.
 */
function write(storage, history) {
  try {
    storage.setItem(KEY, JSON.stringify(history.slice(0, MAX_REQUESTS)));
    return true;
  } catch {
    storage.removeItem(KEY); // the storage is full, and an outdated history would be misleading
    return false;
  }
}

/**
 * @param {unknown} value
 * @returns {value is SentRequest}
 */
function isSentRequest(value) {
  if (!isStoredRequest(value)) return false;
  const { sentAt, outcome } = /** @type {StoredRequest & Record<string, unknown>} */ (value);
  return (
    typeof sentAt === 'number' && !Number.isNaN(new Date(sentAt).valueOf()) && typeof outcome === 'string'
  );
}

/**
 * @param {unknown} value
 * @returns {value is StoredRequest}
 */
export function isStoredRequest(value) {
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
