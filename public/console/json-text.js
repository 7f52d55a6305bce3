/**
 * Lays JSON out for reading. The text is taken piece by piece and never parsed into values: numbers of any size, the
 * order of names and repeated ones stay as they are.
 */

/** @typedef {'name' | 'text' | 'value'} MarkKind */
/** @typedef {{ kind: MarkKind, start: number, end: number }} Mark What a stretch of the laid-out text is. */

/** Deeper than this nobody can tell the levels apart, and the blanks would outgrow the text. */
const DEEPEST_INDENT = 24;
const MOST_MARKS = 4_000;
const BLANKS = /[\t\n\r ]/;
const SIGNS = '{}[],:';
/** What can’t be seen, or turns the direction of what follows; the joiners that emoji and scripts need are left alone. */
const UNSEEN =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]|\p{Surrogate}/gu; // oxlint-disable-line no-control-regex

/**
 * @param {string} text
 * @param {number} longest Stops soon after so many characters.
 * @returns {{ text: string, marks: Mark[], isCut: boolean }}
 */
export function layOutJson(text, longest) {
  /** @type {Mark[]} */
  const marks = [];
  let out = '';
  let depth = 0;
  let at = skipBlanks(text, 0);
  /** @type {Mark | null} A string that is a name if a colon follows. */
  let last = null;
  const newLine = () => {
    out += `\n${'  '.repeat(Math.min(depth, DEEPEST_INDENT))}`;
  };

  while (at < text.length && out.length < longest) {
    const sign = text[at] ?? '';
    const start = at;
    at = SIGNS.includes(sign) ? at + 1 : endOfToken(text, at, Math.max(longest - out.length, 0));
    const next = skipBlanks(text, at);
    if (sign === '{' || sign === '[') {
      out += sign;
      const closing = text[next];
      if (closing === '}' || closing === ']') {
        out += closing;
        at = next + 1;
      } else {
        depth += 1;
        newLine();
      }
    } else if (sign === '}' || sign === ']') {
      depth = Math.max(depth - 1, 0);
      newLine();
      out += sign;
    } else if (sign === ',') {
      out += sign;
      newLine();
    } else if (sign === ':') {
      out += ': ';
      if (last !== null) last.kind = 'name';
    } else {
      const shown = text.slice(start, at).replaceAll(UNSEEN, toEscape);
      last = { kind: sign === '"' ? 'text' : 'value', start: out.length, end: out.length + shown.length };
      if (marks.length < MOST_MARKS) marks.push(last);
      out += shown;
    }
    at = skipBlanks(text, at);
  }
  return { text: out, marks, isCut: at < text.length };
}

/**
 * @param {string} text
 * @param {number} at
 */
function skipBlanks(text, at) {
  let next = at;
  while (BLANKS.test(text[next] ?? '')) next += 1;
  return next;
}

/**
 * Where the string, number or word ends that begins at `at`; no further than `longest` characters on.
 * @param {string} text
 * @param {number} at
 * @param {number} longest
 */
function endOfToken(text, at, longest) {
  const furthest = Math.min(text.length, at + longest + 1);
  const isString = text[at] === '"';
  let next = at + 1;
  for (; next < furthest; next += 1) {
    const character = text[next] ?? '';
    if (isString && character === '\\') next += 1;
    else if (isString && character === '"') return next + 1;
    else if (!isString && (BLANKS.test(character) || character === '"' || SIGNS.includes(character)))
      return next;
  }
  return furthest;
}

/** @param {string} character */
function toEscape(character) {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
