/** Creates the labels of the requests in the history. */
import { toUrl } from './request-rules.js';

/** @typedef {import('./request-rules.js').ComposedRequest} ComposedRequest */

/** Maximum length of a name or value that is shown in full. Cursors are longer, and users can't tell them apart anyway. */
const MAX_CHARACTERS = 24;
/** Number of characters kept at each end of a shortened name or value. */
const KEPT_CHARACTERS = 8;
/** A percent-encoded byte is treated as one character, so that it is never split. */
const CHARACTER = /%[\dA-F]{2}|[^%]/gi;

/**
 * Returns the path and query of a request, with long values shortened in the middle.
 * @param {ComposedRequest} request
 * @param {string} origin
 */
export function toTargetLabel(request, origin) {
  const url = toUrl(request, origin);
  if (url === null) return request.path;
  return url.pathname + url.search.replaceAll(/[^?&=]+/g, shorten);
}

/** @param {string} value */
function shorten(value) {
  const characters = value.match(CHARACTER) ?? [];
  if (characters.length <= MAX_CHARACTERS) return value;
  return `${characters.slice(0, KEPT_CHARACTERS).join('')}…${characters.slice(-KEPT_CHARACTERS).join('')}`;
}

const NO_STATUS = {
  redirect: 'redirect',
  cancelled: 'cancelled',
  offline: 'offline',
  unreachable: 'no response',
};
const ENDS = {
  complete: '',
  interrupted: ', incomplete',
  cancelled: ', cancelled',
  'too-large': ', too large',
};

/**
 * Describes an outcome in one or two words.
 * @param {{ status: number, end: keyof typeof ENDS } | keyof typeof NO_STATUS} outcome
 */
export function toOutcomeLabel(outcome) {
  return typeof outcome === 'string' ? NO_STATUS[outcome] : `${outcome.status}${ENDS[outcome.end]}`;
}
