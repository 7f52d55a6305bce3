/** Creates the labels of the requests in the history. */
import { toUrl, type ComposedRequest } from './request-rules.ts';

/** Maximum length of a name or value that is shown in full. Cursors are longer, and users can't tell them apart anyway. */
const MAX_CHARACTERS = 24;
/** Number of characters kept at each end of a shortened name or value. */
const KEPT_CHARACTERS = 8;
/** A percent-encoded byte is treated as one character, so that it is never split. */
const CHARACTER = /%[\dA-F]{2}|[^%]/gi;

/** Returns the path and query of a request, with long values shortened in the middle. */
export function toTargetLabel(request: ComposedRequest, origin: string) {
  const url = toUrl(request, origin);
  if (url === null) return request.path;
  return url.pathname + url.search.replaceAll(/[^?&=]+/g, shorten);
}

function shorten(value: string) {
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

/** Describes an outcome in one or two words. */
export function toOutcomeLabel(outcome: { status: number; end: keyof typeof ENDS } | keyof typeof NO_STATUS) {
  return typeof outcome === 'string' ? NO_STATUS[outcome] : `${outcome.status}${ENDS[outcome.end]}`;
}
