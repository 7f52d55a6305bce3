/** Sends a composed request and gathers the answer, within bounds. */
import { headersOf } from './copy-as.js';
import { toAddress } from './request-rules.js';

/** @typedef {import('./request-rules.js').ComposedRequest} ComposedRequest */

/**
 * @typedef {object} Answer
 * @property {number} status
 * @property {string} statusText
 * @property {Headers} headers
 * @property {Blob} body What came of it.
 * @property {'whole' | 'broke-off' | 'cancelled' | 'too-large'} end How it ended.
 * @property {number} headMs Until its head was there.
 * @property {number} totalMs
 */

/** @typedef {Answer | 'redirect' | 'cancelled' | 'offline' | 'unreachable'} Outcome */

/** A tab holds no more of an answer than this; the rest is given up. */
export const MOST_BYTES = 64 * 1024 * 1024;

/**
 * Sends it and resolves with what became of it; never rejects. Follows no redirect, so that nothing is called but the
 * gateway, and takes nothing from the browser's cache.
 * @param {ComposedRequest} request One without a fault that stops it.
 * @param {object} options
 * @param {string} options.origin
 * @param {AbortSignal} options.signal Ends it; what has come by then is kept.
 * @param {(bytes: number) => void} options.onProgress Hears how much of the body has come.
 * @returns {Promise<Outcome>}
 */
export async function send(request, { origin, signal, onProgress }) {
  const beganAt = performance.now();
  /** @type {Response} */
  let response;
  try {
    response = await fetch(toAddress(request, origin) ?? origin, {
      method: request.method,
      headers: headersOf(request).map(([name, value]) => [name, value]),
      ...(request.body !== '' && { body: request.body }),
      redirect: 'manual',
      cache: 'no-store',
      credentials: 'same-origin',
      signal,
    });
  } catch {
    if (signal.aborted) return 'cancelled';
    return navigator.onLine ? 'unreachable' : 'offline';
  }
  if (response.type === 'opaqueredirect') return 'redirect';
  const headMs = performance.now() - beganAt;
  const { chunks, end } = await gather(response, signal, onProgress);
  const totalMs = performance.now() - beganAt;
  const { status, statusText, headers } = response;
  return { status, statusText, headers, body: new Blob(chunks), end, headMs, totalMs };
}

/**
 * @param {Response} response
 * @param {AbortSignal} signal
 * @param {(bytes: number) => void} onProgress
 * @returns {Promise<{ chunks: Uint8Array<ArrayBuffer>[], end: Answer['end'] }>}
 */
async function gather(response, signal, onProgress) {
  /** @type {Uint8Array<ArrayBuffer>[]} */
  const chunks = [];
  if (response.body === null) return { chunks, end: 'whole' };
  const reader = response.body.getReader();
  let bytes = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return { chunks, end: 'whole' };
      if (bytes + value.length > MOST_BYTES) {
        await reader.cancel();
        return { chunks, end: 'too-large' };
      }
      chunks.push(value);
      bytes += value.length;
      onProgress(bytes);
    }
  } catch {
    return { chunks, end: signal.aborted ? 'cancelled' : 'broke-off' };
  }
}
