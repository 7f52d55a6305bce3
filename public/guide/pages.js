import { ApiError, callApi } from './fetch-api.js';

/** @typedef {{ name?: string, [field: string]: unknown }} Item */
/** @typedef {{ value: Item[], next?: string }} Page */

/** Waits so many times for one page at most. */
const MOST_TRIES = 5;

/**
 * Every item of a list, page by page as you take them:
 * `for await (const workspace of pages('/api/public/v1/workspaces', { limit: 50 }))`.
 * @param {string} path
 * @param {{ limit?: number, signal?: AbortSignal }} [options] `signal` ends it, in a call or between two.
 */
export async function* pages(path, { limit, signal } = {}) {
  /** @type {string | undefined} */
  let next;
  do {
    // URLSearchParams encodes the page token, and the same limit goes with each.
    const query = new URLSearchParams();
    if (limit !== undefined) query.set('limit', String(limit));
    if (next !== undefined) query.set('next', next);
    const answer = await callPatiently(`${path}?${query}`, signal);
    const page = /** @type {Page} */ (await answer.json());
    yield* page.value;
    if (page.next !== undefined && page.next === next)
      throw new Error('the service gave the same page token twice');
    next = page.next;
  } while (next !== undefined);
}

/**
 * Reads are safe to send again: a 429 or 503 that says when is waited for.
 * @param {string} address
 * @param {AbortSignal | undefined} signal
 */
async function callPatiently(address, signal) {
  for (let tries = 1; ; tries += 1) {
    try {
      return await callApi(address, signal && { signal });
    } catch (error) {
      const isBusy = error instanceof ApiError && (error.status === 429 || error.status === 503);
      if (!isBusy || error.retryAfter === null || tries === MOST_TRIES) throw error;
      await pause(toMs(error.retryAfter), signal);
    }
  }
}

/**
 * `Retry-After` is in seconds, or a date.
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
