/** The history of requests sent from this tab, without responses. When the session ends, this history is deleted. */
import { isStorableHeader, type ComposedRequest } from './request-rules.ts';

export interface Store {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}

export interface StoredRequest {
  /** Without credentials. */
  readonly request: ComposedRequest;
  /** False if its body was too long to keep. */
  readonly isWhole: boolean;
}

interface Sending {
  /** In ms since the epoch. */
  readonly sentAt: number;
  /** A status code, or a phrase if there was no response. Empty until the request has ended. */
  readonly outcome: string;
}

export type SentRequest = StoredRequest & Sending;

const KEY = 'console-history';
const MAX_REQUESTS = 50;
/** Maximum length of a body in the history, because the storage of a tab is small. */
const MAX_BODY_LENGTH = 20_000;

/** Reads the requests in the history, newest first. */
export function readHistory(storage: Store): SentRequest[] {
  try {
    const stored = JSON.parse(storage.getItem(KEY) ?? '[]') as unknown;
    return Array.isArray(stored) ? stored.filter(isSentRequest).slice(0, MAX_REQUESTS) : [];
  } catch {
    return []; // not written by this script
  }
}

/**
 * Adds a request at the top, without its credentials. Removes any identical older request.
 * @param sentAt In ms since the epoch.
 * @returns Whether the storage accepted the value.
 */
export function addToHistory(storage: Store, request: ComposedRequest, sentAt: number): boolean {
  const stored = toStoredRequest(request);
  const others = readHistory(storage).filter(
    (other) => JSON.stringify(other.request) !== JSON.stringify(stored.request),
  );
  return write(storage, [{ ...stored, sentAt, outcome: '' }, ...others]);
}

/** Removes the credentials, and the body if it is too long. */
export function toStoredRequest(request: ComposedRequest): StoredRequest {
  const isWhole = request.body.length <= MAX_BODY_LENGTH;
  const headers = request.headers.filter(isStorableHeader);
  return { request: { ...request, headers, body: isWhole ? request.body : '' }, isWhole };
}

/**
 * Records the outcome of a request if that request is still the newest in the history.
 * @param sentAt When the request was sent, in ms since the epoch.
 * @returns Whether the storage accepted the value.
 */
export function recordOutcome(storage: Store, sentAt: number, outcome: string): boolean {
  const [latest, ...others] = readHistory(storage);
  return latest?.sentAt === sentAt && write(storage, [{ ...latest, outcome }, ...others]);
}

/** Removes all stored requests. */
export function clearHistory(storage: Store) {
  storage.removeItem(KEY);
}

/** @returns Whether the storage accepted the value. */
function write(storage: Store, history: readonly SentRequest[]): boolean {
  try {
    storage.setItem(KEY, JSON.stringify(history.slice(0, MAX_REQUESTS)));
    return true;
  } catch {
    storage.removeItem(KEY); // the storage is full, and an outdated history would be misleading
    return false;
  }
}

function isSentRequest(value: unknown): value is SentRequest {
  if (!isStoredRequest(value)) return false;
  const { sentAt, outcome } = value as StoredRequest & Record<string, unknown>;
  return (
    typeof sentAt === 'number' && !Number.isNaN(new Date(sentAt).valueOf()) && typeof outcome === 'string'
  );
}

/** Returns whether a value from the storage is a request. Another version of this page may have stored it. */
export function isStoredRequest(value: unknown): value is StoredRequest {
  if (typeof value !== 'object' || value === null) return false;
  const { request, isWhole } = value as Record<string, unknown>;
  return isRequest(request) && typeof isWhole === 'boolean';
}

function isRequest(value: unknown): value is ComposedRequest {
  if (typeof value !== 'object' || value === null) return false;
  const { method, path, query, headers, contentType, body } = value as Record<string, unknown>;
  return (
    [method, path, contentType, body].every((text) => typeof text === 'string') &&
    arePairs(query) &&
    arePairs(headers)
  );
}

function arePairs(value: unknown) {
  return (
    Array.isArray(value) &&
    value.every(
      (pair) => Array.isArray(pair) && pair.length === 2 && pair.every((text) => typeof text === 'string'),
    )
  );
}
