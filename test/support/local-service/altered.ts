import { fc, scaled } from '../properties.ts';

const latin1 = (from: number, to: number) =>
  fc.integer({ min: from, max: to }).map((code) => String.fromCodePoint(code));

/** Runs a check on `runs` values: first the examples, then generated values. */
export async function forAll<T>(
  runs: number,
  values: fc.Arbitrary<T>,
  check: (value: T) => Promise<void>,
  examples: readonly T[] = [],
): Promise<void> {
  const property = fc.asyncProperty(values, check);
  await fc.assert(property, { numRuns: scaled(runs), examples: examples.map((example) => [example]) });
}

/** Any byte, as a Latin-1 character. */
export const BYTE = latin1(0x00, 0xff);

/** A character that Node's parser accepts in a header value. */
export const HEADER_BYTE = fc.oneof(latin1(0x20, 0x7e), latin1(0x80, 0xff), fc.constant('\t'));

/** A character that Node's parser accepts in a request target, except `#`, which begins a fragment. */
export const TARGET_BYTE = fc.oneof(
  fc.constantFrom(...'%./?&=;:@\\|"<>[]{}^`~+,'.split('')),
  latin1(0x21, 0x7e).filter((character) => character !== '#'),
);

/** The alphabet of base64url (RFC 4648 §5), which codes, tokens and challenges use. */
export const BASE64URL: readonly string[] =
  'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'.split('');

/** Any character, but often one that parsers treat specially. */
const CHARACTER = fc.oneof(
  fc.constantFrom(...'\0\t\n\r "#%&+,/:;=?\\éİ\u2028\ufeff'.split(''), '😀'),
  fc.constantFrom(...'AZaz09-_.~'.split('')),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
);

/** Texts with a special meaning in JavaScript or HTTP. */
const WORDS = [
  ...['', '__proto__', 'constructor', 'hasOwnProperty'],
  ...['null', 'undefined', 'NaN', '[object%20Object]', '*'],
];

type Edit = (text: string, at: number, unit: string) => string;

const EDITS: readonly Edit[] = [
  (text, at, unit) => text.slice(0, at) + unit + text.slice(at + 1),
  (text, at, unit) => text.slice(0, at) + unit + text.slice(at),
  (text, at) => text.slice(0, at) + text.slice(at + 1),
  (text, at) => text.slice(0, at),
  (text, at) => text.slice(0, at + 1) + text.slice(at),
  (text) => text + text,
  (text, at) => text.slice(0, at) + swapCase(text.slice(at, at + 1)) + text.slice(at + 1),
  (text, at) => text.slice(0, at) + percentEncode(text.slice(at, at + 1)) + text.slice(at + 1),
];

/** Generates `valid` with one change, and unrelated texts, but never `valid` itself. */
export function altered(valid: string, unit: fc.Arbitrary<string> = CHARACTER): fc.Arbitrary<string> {
  // Parsers fail most often at the start or end of a text.
  const place = fc.oneof({ weight: 4, arbitrary: fc.nat(valid.length) }, fc.constantFrom(0, valid.length));
  const edited = fc
    .tuple(fc.constantFrom(...EDITS), place, unit)
    .map(([edit, at, character]) => edit(valid, at, character));
  return fc
    .oneof(
      { weight: 5, arbitrary: edited },
      { weight: 1, arbitrary: fc.constantFrom(...WORDS) },
      { weight: 1, arbitrary: fc.string({ unit, maxLength: 200 }) },
      { weight: 1, arbitrary: fc.nat(12_000).map((length) => 'x'.repeat(length)) },
    )
    .filter((text) => text !== valid);
}

function swapCase(character: string): string {
  const upper = character.toUpperCase();
  return upper === character ? character.toLowerCase() : upper;
}

function percentEncode(character: string): string {
  return [...Buffer.from(character)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
}

/** Returns the credentials in an `Authorization` header with this scheme; undefined for any other header. */
export function credentialsIn(header: string, scheme: string): string | undefined {
  const trimmed = header.replaceAll(/^[ \t]+|[ \t]+$/g, ''); // as in Node; trim() would also remove other whitespace
  const [word = '', credentials = '', ...more] = trimmed.split(/ +/);
  const isOfScheme = word.toLowerCase() === scheme.toLowerCase() && more.length === 0;
  return isOfScheme && /^[\w.~+/-]+=*$/.test(credentials) ? credentials : undefined; // token68 (RFC 9110 §11.2)
}
