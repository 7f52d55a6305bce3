/** Indents JSON token by token. Parsing would not preserve long numbers, repeated names or the order of names. */

type MarkKind = 'name' | 'text' | 'value';
/** A range in the formatted text, and its kind. */
export interface Mark {
  kind: MarkKind;
  readonly start: number;
  readonly end: number;
}

/** Maximum indentation, in levels. Deeper indentation could take more space than the text. */
const MAX_INDENT = 24;
const MAX_MARKS = 4_000;
const WHITESPACE = /[\t\n\r ]/;
const PUNCTUATION = '{}[],:';
/** Invisible characters and characters that change the text direction, except the joiners that emoji and some scripts need. */
const INVISIBLE =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]|\p{Surrogate}/gu; // oxlint-disable-line no-control-regex

/** @param maxLength Stops soon after this many characters. */
export function formatJson(text: string, maxLength: number): { text: string; marks: Mark[]; isCut: boolean } {
  const marks: Mark[] = [];
  let out = '';
  let depth = 0;
  let at = skipWhitespace(text, 0);
  /** A string, which is a name if a colon follows. */
  let last: Mark | null = null;
  const newLine = () => {
    out += `\n${'  '.repeat(Math.min(depth, MAX_INDENT))}`;
  };

  while (at < text.length && out.length < maxLength) {
    const character = text[at] ?? '';
    const start = at;
    at = PUNCTUATION.includes(character) ? at + 1 : endOfToken(text, at, Math.max(maxLength - out.length, 0));
    const next = skipWhitespace(text, at);
    if (character === '{' || character === '[') {
      out += character;
      const closing = text[next];
      if (closing === '}' || closing === ']') {
        out += closing;
        at = next + 1;
      } else {
        depth += 1;
        newLine();
      }
    } else if (character === '}' || character === ']') {
      depth = Math.max(depth - 1, 0);
      newLine();
      out += character;
    } else if (character === ',') {
      out += character;
      newLine();
    } else if (character === ':') {
      out += ': ';
      if (last !== null) last.kind = 'name';
    } else {
      const shown = text.slice(start, at).replaceAll(INVISIBLE, toEscape);
      last = {
        kind: character === '"' ? 'text' : 'value',
        start: out.length,
        end: out.length + shown.length,
      };
      if (marks.length < MAX_MARKS) marks.push(last);
      out += shown;
    }
    at = skipWhitespace(text, at);
  }
  return { text: out, marks, isCut: at < text.length };
}

function skipWhitespace(text: string, at: number) {
  let next = at;
  while (WHITESPACE.test(text[next] ?? '')) next += 1;
  return next;
}

/** Returns the end of the string, number or word that starts at `at`, looking no further than `maxLength` characters. */
function endOfToken(text: string, at: number, maxLength: number) {
  const limit = Math.min(text.length, at + maxLength + 1);
  const isString = text[at] === '"';
  let next = at + 1;
  for (; next < limit; next += 1) {
    const character = text[next] ?? '';
    if (isString && character === '\\') next += 1;
    else if (isString && character === '"') return next + 1;
    else if (
      !isString &&
      (WHITESPACE.test(character) || character === '"' || PUNCTUATION.includes(character))
    )
      return next;
  }
  return limit;
}

function toEscape(character: string) {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
