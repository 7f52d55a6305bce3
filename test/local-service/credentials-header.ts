import { BASE64URL } from './mangling.ts';

/** Of a token68, before its padding (RFC 9110 §11.2); the same as a bearer token's (RFC 6750 §2.1). */
const TOKEN68: readonly string[] = [...BASE64URL, '.', '~', '+', '/'];

/** Of Base64 (RFC 4648 §4), and so of HTTP Basic. */
export const BASE64: readonly string[] = [
  ...BASE64URL.filter((character) => !'-_'.includes(character)),
  '+',
  '/',
];

/** Node takes those around a header's value away. */
const BLANKS = new Set([' ', '\t']);

/**
 * What stands after the scheme in an `Authorization` header, made of these characters and padding. Undefined where it
 * is of another form or another scheme. It goes character by character, so as not to be the service's pattern again.
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
