/** Explains what the gateway did with a request, based on the response. */
import { formatDuration } from '../countdown.js';
import { ADVICE } from './problem-advice.js';
import { toRequestTiming } from './server-timing.js';

/** @typedef {import('./server-timing.js').RequestTiming} RequestTiming */

/**
 * A problem (RFC 9457) from the gateway. Missing members are empty strings.
 * @typedef {object} Problem
 * @property {string} code
 * @property {string} title
 * @property {string} detail
 * @property {string} requestId
 * @property {string} advice Advice for the developer; empty for an unknown code.
 * @property {boolean} needsSignIn
 */

/**
 * @typedef {object} Explanation
 * @property {'service' | 'gateway' | 'other'} by The sender.
 * @property {readonly string[]} sentences
 * @property {RequestTiming | null} timing
 * @property {Problem | null} problem
 */

const SIGN_IN_CODES = new Set(['sign_in_required', 'session_expired']);

/**
 * @param {{ status: number, headers: Headers }} response
 * @param {unknown} json The value of a JSON body.
 * @returns {Explanation}
 */
export function explain({ status, headers }, json) {
  const timing = toRequestTiming(headers.get('server-timing'));
  const problem = toProblem(headers, json);
  const by = isFromService(headers) ? 'service' : problem === null ? 'other' : 'gateway';
  const sentences = [
    ...senderSentences(by),
    ...tokenSentences(timing, by, status),
    ...pauseSentences(headers),
  ];
  return { by, sentences, timing, problem: by === 'gateway' ? problem : null };
}

/**
 * Returns whether the service sent the response. The gateway adds itself to `Via` only in responses from the service.
 * @param {Headers} headers
 */
function isFromService(headers) {
  return /(?:^|,)\s*1\.1 cloakroom\s*(?:,|$)/.test(headers.get('via') ?? '');
}

/**
 * @param {Headers} headers
 * @param {unknown} json
 * @returns {Problem | null}
 */
function toProblem(headers, json) {
  const type = headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase();
  if (type !== 'application/problem+json' || typeof json !== 'object' || json === null) return null;
  /** @param {string} name */
  const member = (name) => {
    const value = Object.hasOwn(json, name) ? /** @type {Record<string, unknown>} */ (json)[name] : '';
    return typeof value === 'string' ? value : '';
  };
  const code = member('code');
  return {
    code,
    title: member('title'),
    detail: member('detail'),
    requestId: member('requestId'),
    advice: Object.hasOwn(ADVICE, code) ? (ADVICE[code] ?? '') : '',
    needsSignIn: SIGN_IN_CODES.has(code),
  };
}

/** @param {Explanation['by']} by */
function senderSentences(by) {
  if (by === 'service') return ['The service sent this response (Via: 1.1 cloakroom).'];
  if (by === 'gateway') return ['The gateway sent this response (no Via header).'];
  return [
    'A server between the browser and the gateway sent this response. The response has no Via header from the gateway, and its body is not a gateway error.',
  ];
}

/**
 * @param {RequestTiming | null} timing
 * @param {Explanation['by']} by
 * @param {number} status
 */
function tokenSentences(timing, by, status) {
  if (timing === null) return [];
  const refreshed = timing.token.desc === 'refreshed';
  const replayed = timing.service.desc === 'replayed';
  if (replayed && by === 'service' && status === 401)
    return [
      'The service rejected the access token, so the gateway refreshed it and repeated the request once. The service rejected the new token too, so an expired token is not the cause.',
    ];
  if (replayed)
    return [
      'The service rejected the access token with 401, so the gateway refreshed it and repeated the request once.',
    ];
  if (refreshed && by === 'service' && status === 401)
    return [
      'The gateway refreshed the access token but did not repeat the request, and the service responded with 401. If the request body is over 64 KiB, send the request again. Otherwise, the service refused the new token.',
    ];
  if (refreshed)
    return ['The access token had expired, so the gateway refreshed it before it sent the request.'];
  if (by !== 'service') return [];
  return status === 401
    ? [
        'The service rejected the access token with 401. The token was less than 30 seconds old, so the gateway did not refresh it. Try again in 30 seconds.',
      ]
    : ['The access token was valid. The gateway did not refresh it or repeat the request.'];
}

/** @param {Headers} headers */
function pauseSentences(headers) {
  const after = headers.get('retry-after');
  if (after === null) return [];
  return [
    /^\d+$/.test(after)
      ? `Wait ${formatDuration(Number(after))} before you try again (Retry-After).`
      : `Try again after ${after} (Retry-After).`,
  ];
}
