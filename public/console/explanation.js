/** Explains from a response what the gateway did with the request. */
import { ADVICE } from './problem-advice.js';
import { toRequestTiming } from './server-timing.js';

/** @typedef {import('./server-timing.js').RequestTiming} RequestTiming */

/**
 * A problem (RFC 9457) of the gateway. Missing members are empty.
 * @typedef {object} Problem
 * @property {string} code
 * @property {string} title
 * @property {string} detail
 * @property {string} requestId
 * @property {string} advice What to do; empty for an unknown code.
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
 * The gateway names itself in `Via` of the service's responses. Proxies may add their names.
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
  if (by === 'service') return ['The response comes from the service (Via: 1.1 cloakroom).'];
  if (by === 'gateway') return ['The response comes from the gateway (no Via).'];
  return [
    'The response comes from a server between the browser and the gateway: it has no Via, and is no problem of the gateway.',
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
      'The service refused the access token, so the gateway refreshed it and repeated the request once. It passed the second 401 on: the age of the token is not the cause.',
    ];
  if (replayed)
    return [
      'The service refused the access token with 401, so the gateway refreshed it and repeated the request once.',
    ];
  if (refreshed && by === 'service' && status === 401)
    return [
      'The gateway refreshed the access token, and passed on a 401 of the service. It repeats no request with a body over 64 KiB, or with a token younger than 30 s. Send it again.',
    ];
  if (refreshed) return ['The access token had expired, so the gateway refreshed it before the request.'];
  if (by !== 'service') return [];
  return status === 401
    ? [
        'The service refused the access token, which was younger than 30 s: the gateway passed the 401 on. Try again in 30 s.',
      ]
    : ['The access token was valid: nothing was refreshed or repeated.'];
}

/** @param {Headers} headers */
function pauseSentences(headers) {
  const after = headers.get('retry-after');
  if (after === null) return [];
  return [
    /^\d+$/.test(after)
      ? `Wait ${after} s before you try again (Retry-After).`
      : `Try again after ${after} (Retry-After).`,
  ];
}
