/** What the history says of a request, in few words. */
import { toAddress } from './request-rules.js';

/** @typedef {import('./request-rules.js').ComposedRequest} ComposedRequest */

/** A longer name or value is cut short: page tokens are long, alike, and read by nobody. */
const LONGEST = 24;
/** So many signs are left of its beginning, and of its end. */
const END = 8;
/** An escape is one sign: none is cut in two. */
const SIGN = /%[\dA-F]{2}|[^%]/gi;

/** Why there is no status. */
const NO_ANSWER = {
  redirect: 'redirect',
  cancelled: 'cancelled',
  offline: 'offline',
  unreachable: 'no answer',
};
const NOT_WHOLE = {
  'broke-off': ', broke off',
  cancelled: ', cancelled',
  'too-large': ', too large',
  whole: '',
};

/**
 * Where it went, its long values cut short in their middle.
 * @param {ComposedRequest} request
 * @param {string} origin
 */
export function toTarget(request, origin) {
  const address = toAddress(request, origin);
  if (address === null) return request.path;
  return address.pathname + address.search.replaceAll(/[^?&=]+/g, shortened);
}

/** @param {{ status: number, end: keyof typeof NOT_WHOLE } | keyof typeof NO_ANSWER} outcome */
export function toOutcome(outcome) {
  return typeof outcome === 'string' ? NO_ANSWER[outcome] : `${outcome.status}${NOT_WHOLE[outcome.end]}`;
}

/** @param {string} value */
function shortened(value) {
  const signs = value.match(SIGN) ?? [];
  if (signs.length <= LONGEST) return value;
  return `${signs.slice(0, END).join('')}…${signs.slice(-END).join('')}`;
}
