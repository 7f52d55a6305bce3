/** Length of the pieces of long secrets that the finder looks up. The finder detects any part of at least twice this length. */
const PIECE = 12;
const LONG = 2 * PIECE;
/** A value with fewer distinct characters may be an ordinary word. */
const MIN_DIFFERENT_CHARACTERS = 6;

const WORDS = /[\w-]{8,}/g;
const BASE64 = /[\w+/-]{12,}={0,2}/g;

/**
 * Finds secrets in text: plain, percent-encoded or in base64, complete or in part. The finder looks up each word in the text,
 * so the search time does not grow with the number of secrets.
 * @param {readonly { kind: string, value: string }[]} secrets
 */
export function createSecretFinder(secrets) {
  /** @type {Map<string, string>} kinds, keyed by complete word */
  const words = new Map();
  /** @type {Map<string, string>} kinds, keyed by each piece of a long word */
  const pieces = new Map();
  for (const { kind, value } of secrets) {
    for (const word of value.match(WORDS) ?? []) {
      if (new Set(word).size < MIN_DIFFERENT_CHARACTERS || word.length < Math.min(value.length, PIECE))
        continue;
      words.set(word, kind);
      if (word.length < LONG) continue;
      for (let at = 0; at + PIECE <= word.length; at += 1) pieces.set(word.slice(at, at + PIECE), kind);
    }
  }

  /**
   * @param {string} text
   * @param {Set<string>} kinds
   */
  const findPlain = (text, kinds) => {
    for (const word of text.match(WORDS) ?? []) {
      const whole = words.get(word);
      if (whole !== undefined) kinds.add(whole);
      for (let at = 0; at + PIECE <= word.length; at += PIECE) {
        const part = pieces.get(word.slice(at, at + PIECE));
        if (part !== undefined) kinds.add(part);
      }
    }
  };

  return {
    size: words.size,
    /**
     * Returns the kinds of secrets found in a text.
     * @param {string} text
     */
    find(text) {
      /** @type {Set<string>} */
      const kinds = new Set();
      let plain = text;
      for (let times = 0; times < 3; times += 1) {
        findPlain(plain, kinds);
        for (const encoded of plain.match(BASE64) ?? []) {
          const decoded = Buffer.from(encoded, 'base64').toString('latin1');
          if (/^[\x20-\x7e]+$/.test(decoded)) findPlain(decoded, kinds);
        }
        const decoded = plain.replaceAll(/(?:%[\da-f]{2})+/gi, (bytes) =>
          Buffer.from(bytes.replaceAll('%', ''), 'hex').toString('latin1'),
        );
        if (decoded === plain) break;
        plain = decoded;
      }
      return kinds;
    },
  };
}
