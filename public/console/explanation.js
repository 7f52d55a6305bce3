/** What the gateway did with a call, told from the answer alone. */
import { ADVICE } from './problem-advice.js';
import { toCallTiming } from './server-timing.js';

/** @typedef {import('./server-timing.js').CallTiming} CallTiming */

/**
 * A problem (RFC 9457) of the gateway.
 * @typedef {object} Problem
 * @property {string} code
 * @property {string} title
 * @property {string} detail
 * @property {string} requestId
 * @property {string} advice What to do; empty for a code that is not known here.
 * @property {boolean} asksToSignIn
 */

/**
 * @typedef {object} Explanation
 * @property {'service' | 'gateway' | 'other'} by Who answered.
 * @property {readonly string[]} sentences
 * @property {CallTiming | null} timing
 * @property {Problem | null} problem
 */

const SIGN_IN_CODES = new Set(['sign_in_required', 'session_expired']);

/**
 * @param {{ status: number, headers: Headers }} answer
 * @param {unknown} json The body, where it is JSON.
 * @returns {Explanation}
 */
export function explain({ status, headers }, json) {
  const timing = toCallTiming(headers.get('server-timing'));
  const problem = toProblem(headers, json);
  const by = isByService(headers) ? 'service' : problem === null ? 'other' : 'gateway';
  const sentences = [...whoSentences(by), ...tokenSentences(timing, by, status), ...pauseSentences(headers)];
  return { by, sentences, timing, problem: by === 'gateway' ? problem : null };
}

/**
 * Whether the service answered: the gateway then names itself in `Via`. Proxies may add their names.
 * @param {Headers} headers
 */
function isByService(headers) {
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
    asksToSignIn: SIGN_IN_CODES.has(code),
  };
}

/** @param {Explanation['by']} by */
function whoSentences(by) {
  if (by === 'service') return ['The service answered (Via: 1.1 cloakroom).'];
  if (by === 'gateway') return ['The gateway answered itself (no Via).'];
  return [
    'Neither the service nor the gateway answered, but something in between: there is no Via, and no problem of the gateway’s.',
  ];
}

/**
 * @param {CallTiming | null} timing
 * @param {Explanation['by']} by
 * @param {number} status
 */
function tokenSentences(timing, by, status) {
  if (timing === null) return [];
  const refreshed = timing.token.desc === 'refreshed';
  const replayed = timing.service.desc === 'replayed';
  if (replayed && by === 'service' && status === 401)
    return [
      'The service refused the token, so the gateway refreshed it and repeated the call once. The second 401 is passed on: the token’s age is not the reason.',
    ];
  if (replayed)
    return [
      'The service refused the token with 401, so the gateway refreshed it and repeated the call once.',
    ];
  if (refreshed && by === 'service' && status === 401)
    return [
      'The service refused the token, and the gateway refreshed it, but repeats no call with a body over 64 KiB. Send it again.',
    ];
  if (refreshed) return ['The access token was spent, so the gateway refreshed it before the call.'];
  return by === 'service' ? ['The access token was still good: nothing was refreshed or repeated.'] : [];
}

/** @param {Headers} headers */
function pauseSentences(headers) {
  const after = headers.get('retry-after');
  if (after === null) return [];
  return [
    /^\d+$/.test(after)
      ? `Wait ${after} s before the next try (Retry-After).`
      : `Try again after ${after} (Retry-After).`,
  ];
}
