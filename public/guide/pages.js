import { ApiError, fetchApi } from './fetch-api.js';

/** @typedef {{ name?: string, [field: string]: unknown }} Item */
/** @typedef {{ value: Item[], next?: string }} Page */

/** Maximum number of requests for one page. */
const MAX_TRIES = 5;

/**
 * Yields every item of a list. Requests each page only when needed.
 * @param {string} path
 * @param {{ limit?: number, signal?: AbortSignal }} [options] `signal` aborts requests and pauses.
 */
export async function* pages(path, { limit, signal } = {}) {
  /** @type {string | undefined} */
  let next;
  do {
    // Every page needs the same limit.
    const query = new URLSearchParams();
    if (limit !== undefined) query.set('limit', String(limit));
    if (next !== undefined) query.set('next', next);
    const response = await fetchWithRetries(`${path}?${query}`, signal);
    const page = /** @type {Page} */ (await response.json());
    yield* page.value;
    if (page.next !== undefined && page.next === next)
      throw new Error('the service returned the same cursor twice');
    next = page.next;
  } while (next !== undefined);
}

/**
 * Retries after a 429 or 503 with Retry-After.
 * @param {string} url
 * @param {AbortSignal | undefined} signal
 */
async function fetchWithRetries(url, signal) {
  for (let tries = 1; ; tries += 1) {
    try {
      return await fetchApi(url, signal && { signal });
    } catch (error) {
      const isBusy = error instanceof ApiError && (error.status === 429 || error.status === 503);
      if (!isBusy || error.retryAfter === null || tries === MAX_TRIES) throw error;
      await pause(toMs(error.retryAfter), signal);
    }
  }
}

/**
 * Converts a `Retry-After` value to ms.
 * @param {string} retryAfter
 */
function toMs(retryAfter) {
  const seconds = Number(retryAfter);
  return Math.max(Number.isNaN(seconds) ? Date.parse(retryAfter) - Date.now() : seconds * 1_000, 0);
}

/**
 * @param {number} ms
 * @param {AbortSignal | undefined} signal
 */
async function pause(ms, signal) {
  signal?.throwIfAborted();
  await new Promise((resolve) => {
    setTimeout(resolve, ms);
    signal?.addEventListener('abort', resolve);
  });
  signal?.throwIfAborted();
}
