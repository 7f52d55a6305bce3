/** Reads from `Server-Timing` (W3C; docs/api.md) how long the parts of a request took and what the gateway did. */

/**
 * @typedef {object} TimedPart
 * @property {number} ms
 * @property {string} desc Empty for an ordinary request.
 */

/** The entries from the gateway, in order. */
const PARTS = ['session', 'token', 'service'];

/** @typedef {{ session: TimedPart, token: TimedPart, service: TimedPart }} RequestTiming */

/**
 * Reads the entries from the gateway; returns null if any is missing. Entries from the service may come first.
 * @param {string | null} header
 * @returns {RequestTiming | null}
 */
export function toRequestTiming(header) {
  if (header === null) return null;
  const [session, token, service] = entriesOf(header).slice(-PARTS.length);
  if (session?.name !== 'session' || token?.name !== 'token' || service?.name !== 'service') return null;
  return { session, token, service };
}

/** @param {string} header */
function entriesOf(header) {
  return splitOutsideQuotes(header, ',').map((entry) => {
    const [name = '', ...parameters] = splitOutsideQuotes(entry, ';').map((part) => part.trim());
    const values = new Map(parameters.map(toParameter));
    const ms = Number(values.get('dur') ?? 0);
    return { name, ms: Number.isFinite(ms) && ms > 0 ? ms : 0, desc: values.get('desc') ?? '' };
  });
}

/**
 * @param {string} text
 * @returns {[name: string, value: string]}
 */
function toParameter(text) {
  const [name = '', ...value] = text.split('=');
  return [name.trim().toLowerCase(), value.join('=').trim().replaceAll(/^"|"$/g, '')];
}

/**
 * @param {string} text
 * @param {',' | ';'} separator
 */
function splitOutsideQuotes(text, separator) {
  const parts = [''];
  let isQuoted = false;
  for (const character of text) {
    if (character === '"') isQuoted = !isQuoted;
    if (character === separator && !isQuoted) parts.push('');
    else parts[parts.length - 1] += character;
  }
  return parts;
}
