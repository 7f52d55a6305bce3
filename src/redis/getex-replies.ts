/** Who hears of the replies, in the order in which they come. */
export interface ReplyReceiver {
  /** The value of a key, or null where there is none. */
  onValue(value: string | null): void;
  /** Redis has done what it was told (a simple string). */
  onStatus(): void;
  /** Redis refused a command, in its own words. */
  onRefusal(message: string): void;
}

/** What came is no reply to GETEX: nobody knows any more which reply belongs to which command. */
export class UnexpectedReplyError extends Error {
  override readonly name = 'UnexpectedReplyError';
}

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
const DOLLAR = 36;
const PLUS = 43;
const MINUS = 45;
const ZERO = 48;
const UNDERSCORE = 95;
/** RESP's own bound on a value (512 MB) has no more digits. */
const MOST_DIGITS = 9;
/** A line is a length or a message. */
const LONGEST_LINE = 4_096;

/**
 * Reads the replies to GETEX and AUTH as RESP has them (Redis serialization protocol specification: bulk strings, the nulls of
 * RESP2 and RESP3, simple strings, simple errors), in whatever pieces they come. Values are read as latin1. Throws UnexpectedReplyError at
 * anything else, and is of no use after that.
 */
export function createReplyReader(receiver: ReplyReceiver): (chunk: Buffer) => void {
  let rest: Buffer | null = null;

  return (chunk) => {
    const bytes: Buffer = rest === null ? chunk : Buffer.concat([rest, chunk]);
    let at = 0;
    while (at < bytes.length) {
      const lineEnd = bytes.indexOf(LINE_FEED, at);
      if (lineEnd < 0) {
        if (bytes.length - at > LONGEST_LINE) throw new UnexpectedReplyError('a line without an end');
        break;
      }
      if (bytes[lineEnd - 1] !== CARRIAGE_RETURN) throw new UnexpectedReplyError('a bare line feed');
      const kind = bytes[at];
      if (kind === MINUS) {
        receiver.onRefusal(bytes.toString('latin1', at + 1, lineEnd - 1));
        at = lineEnd + 1;
        continue;
      }
      if (kind === PLUS) {
        receiver.onStatus();
        at = lineEnd + 1;
        continue;
      }
      if (kind === UNDERSCORE && lineEnd === at + 2) {
        at = lineEnd + 1;
        receiver.onValue(null);
        continue;
      }
      if (kind !== DOLLAR) throw new UnexpectedReplyError('neither a value nor an error');
      const length = toLength(bytes, at + 1, lineEnd - 1);
      const from = lineEnd + 1;
      if (length === null) {
        at = from;
        receiver.onValue(null);
        continue;
      }
      const end = from + length;
      if (end + 2 > bytes.length) break;
      if (bytes[end] !== CARRIAGE_RETURN || bytes[end + 1] !== LINE_FEED)
        throw new UnexpectedReplyError('a value of another length');
      at = end + 2;
      receiver.onValue(bytes.toString('latin1', from, end));
    }
    rest = at < bytes.length ? bytes.subarray(at) : null;
  };
}

/** The length of a bulk string; null is `-1`, that of none. */
function toLength(bytes: Buffer, from: number, end: number): number | null {
  if (end - from === 2 && bytes[from] === MINUS && bytes[from + 1] === ZERO + 1) return null;
  let length = 0;
  for (let at = from; at < end; at += 1) {
    const digit = (bytes[at] ?? 0) - ZERO;
    if (digit < 0 || digit > 9) throw new UnexpectedReplyError('a length that is no number');
    length = length * 10 + digit;
  }
  if (end === from || end - from > MOST_DIGITS) throw new UnexpectedReplyError('no length');
  return length;
}
