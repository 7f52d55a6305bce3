import { fc, times } from '../properties.ts';

const latin1 = (from: number, to: number) =>
  fc.integer({ min: from, max: to }).map((code) => String.fromCodePoint(code));

/** Runs a check on `runs` values, and on the examples first. */
export async function forAll<T>(
  runs: number,
  values: fc.Arbitrary<T>,
  check: (value: T) => Promise<void>,
  examples: readonly T[] = [],
): Promise<void> {
  const property = fc.asyncProperty(values, check);
  await fc.assert(property, { numRuns: times(runs), examples: examples.map((example) => [example]) });
}

/** A byte, as a character. */
export const BYTE = latin1(0x00, 0xff);

/** What Node's parser lets through in a header's value. */
export const HEADER_BYTE = fc.oneof(latin1(0x20, 0x7e), latin1(0x80, 0xff), fc.constant('\t'));

/** What Node's parser lets through in a request's target, but for the `#` that has no place in one. */
export const TARGET_BYTE = fc.oneof(
  fc.constantFrom(...'%./?&=;:@\\|"<>[]{}^`~+,'.split('')),
  latin1(0x21, 0x7e).filter((character) => character !== '#'),
);

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** The characters of Base64 for addresses (RFC 4648 §5): of codes, tokens and challenges. */
export const BASE64URL: readonly string[] = `${LETTERS}0123456789-_`.split('');

/** Any character at all, and rather one that a parser may stumble over. */
const CHARACTER = fc.oneof(
  fc.constantFrom(...'\0\t\n\r "#%&+,/:;=?\\éİ\u2028\ufeff'.split(''), '😀'),
  fc.constantFrom(...'AZaz09-_.~'.split('')),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
);

/** Texts that mean something to some program. */
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

/** `valid` with one place changed, and unrelated texts made of `unit`. */
export function altered(valid: string, unit: fc.Arbitrary<string> = CHARACTER): fc.Arbitrary<string> {
  // Most bugs are at the ends.
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

/** The characters of a token68 (RFC 9110 §11.2), and of a bearer token (RFC 6750 §2.1). */
const TOKEN68: readonly string[] = [...BASE64URL, '.', '~', '+', '/'];

/** The characters of Base64 (RFC 4648 §4), and so of HTTP Basic. */
export const BASE64: readonly string[] = [
  ...BASE64URL.filter((character) => !'-_'.includes(character)),
  '+',
  '/',
];

/** Node strips these from both ends of a header's value. */
const BLANKS = new Set([' ', '\t']);

/**
 * The part after the scheme of an `Authorization` header, made of these characters and padding; undefined for another
 * form or scheme. Reads character by character, so that it does not repeat the service's own pattern.
 */
export function credentialsIn(header: string, scheme: string, of = TOKEN68): string | undefined {
  const characters = header.split('');
  while (BLANKS.has(characters[0] ?? '')) characters.shift();
  while (BLANKS.has(characters.at(-1) ?? '')) characters.pop();
  const word = characters.splice(0, scheme.length).join('');
  if (word.toLowerCase() !== scheme.toLowerCase() || characters[0] !== ' ') return undefined;
  while (characters[0] === ' ') characters.shift();
  const credentials = characters.join('');
  while (characters.at(-1) === '=') characters.pop();
  const isOfThese = characters.length > 0 && characters.every((character) => of.includes(character));
  return isOfThese ? credentials : undefined;
}
