/** Sends a composed request and reads the response, up to a limit. */
import { headersOf } from './copy-as.js';
import { toUrl } from './request-rules.js';

/** @typedef {import('./request-rules.js').ComposedRequest} ComposedRequest */

/**
 * @typedef {object} ReceivedResponse
 * @property {number} status
 * @property {string} statusText
 * @property {Headers} headers
 * @property {Blob} body The part that was read.
 * @property {'complete' | 'interrupted' | 'cancelled' | 'too-large'} end How the body ended.
 * @property {number} totalMs
 */

/** @typedef {ReceivedResponse | 'redirect' | 'cancelled' | 'offline' | 'unreachable'} Outcome */

/** Maximum number of body bytes that the console reads. */
export const MAX_BYTES = 64 * 1024 * 1024;

/**
 * Sends the request and never rejects. Bypasses the browser cache. Does not follow redirects, so that the request goes only to
 * the gateway.
 * @param {ComposedRequest} request A request for which `validateRequest` finds no blocking issue.
 * @param {object} options
 * @param {string} options.origin
 * @param {AbortSignal} options.signal Cancels the request. The bytes read so far are kept.
 * @param {(bytes: number) => void} options.onProgress Called with the number of bytes read so far.
 * @returns {Promise<Outcome>}
 */
export async function sendRequest(request, { origin, signal, onProgress }) {
  const sentAt = performance.now();
  /** @type {Response} */
  let response;
  try {
    response = await fetch(toUrl(request, origin) ?? origin, {
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
  const { chunks, end } = await readBody(response, signal, onProgress);
  const totalMs = performance.now() - sentAt;
  const { status, statusText, headers } = response;
  return { status, statusText, headers, body: new Blob(chunks), end, totalMs };
}

/**
 * @param {Response} response
 * @param {AbortSignal} signal
 * @param {(bytes: number) => void} onProgress
 * @returns {Promise<{ chunks: Uint8Array<ArrayBuffer>[], end: ReceivedResponse['end'] }>}
 */
async function readBody(response, signal, onProgress) {
  /** @type {Uint8Array<ArrayBuffer>[]} */
  const chunks = [];
  if (response.body === null) return { chunks, end: 'complete' };
  const reader = response.body.getReader();
  let bytes = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return { chunks, end: 'complete' };
      if (bytes + value.length > MAX_BYTES) {
        await reader.cancel();
        return { chunks, end: 'too-large' };
      }
      chunks.push(value);
      bytes += value.length;
      onProgress(bytes);
    }
  } catch {
    return { chunks, end: signal.aborted ? 'cancelled' : 'interrupted' };
  }
}
