/** `Server-Timing` (W3C): what the parts of a call took, and what the gateway did for it (docs/api.md). */

/**
 * @typedef {object} TimedPart
 * @property {number} ms
 * @property {string} desc Empty where nothing unusual happened.
 */

/** The gateway's own entries, in the order in which a call meets them. */
const PARTS = ['session', 'token', 'service'];

/** @typedef {{ session: TimedPart, token: TimedPart, service: TimedPart }} CallTiming */

/**
 * The gateway's part of the header; null where it is not there. The service may send entries of its own, of the same
 * names too: the gateway's stand last.
 * @param {string | null} header
 * @returns {CallTiming | null}
 */
export function toCallTiming(header) {
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
 * @param {',' | ';'} mark
 */
function splitOutsideQuotes(text, mark) {
  const parts = [''];
  let isQuoted = false;
  for (const character of text) {
    if (character === '"') isQuoted = !isQuoted;
    if (character === mark && !isQuoted) parts.push('');
    else parts[parts.length - 1] += character;
  }
  return parts;
}
