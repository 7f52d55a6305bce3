/** Reads from `Server-Timing` (W3C; docs/api.md) how long the parts of a request took and what the gateway did. */

interface TimedPart {
  readonly ms: number;
  /** Empty for an ordinary request. */
  readonly desc: string;
}

/** The entries from the gateway, in order. */
const PARTS = ['session', 'token', 'service'];

export interface RequestTiming {
  readonly session: TimedPart;
  readonly token: TimedPart;
  readonly service: TimedPart;
}

/** Reads the entries from the gateway; returns null if any is missing. Entries from the service may come first. */
export function toRequestTiming(header: string | null): RequestTiming | null {
  if (header === null) return null;
  const [session, token, service] = entriesOf(header).slice(-PARTS.length);
  if (session?.name !== 'session' || token?.name !== 'token' || service?.name !== 'service') return null;
  return { session, token, service };
}

function entriesOf(header: string) {
  return splitOutsideQuotes(header, ',').map((entry) => {
    const [name = '', ...parameters] = splitOutsideQuotes(entry, ';').map((part) => part.trim());
    const values = new Map(parameters.map(toParameter));
    const ms = Number(values.get('dur') ?? 0);
    return { name, ms: Number.isFinite(ms) && ms > 0 ? ms : 0, desc: values.get('desc') ?? '' };
  });
}

function toParameter(text: string): [name: string, value: string] {
  const [name = '', ...value] = text.split('=');
  return [name.trim().toLowerCase(), value.join('=').trim().replaceAll(/^"|"$/g, '')];
}

function splitOutsideQuotes(text: string, separator: ',' | ';') {
  const parts = [''];
  let isQuoted = false;
  for (const character of text) {
    if (character === '"') isQuoted = !isQuoted;
    if (character === separator && !isQuoted) parts.push('');
    else parts[parts.length - 1] += character;
  }
  return parts;
}
