/**
 * Cuts JSON text apart without reading its values: what comes out is what went in, numbers beyond 2^53, repeated names
 * and escapes included. All of it is for text that JSON.parse has accepted (RFC 8259), and only finds its way there.
 */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;

/** The elements of an array, each as it is written. */
export function elementsOf(array: string): string[] {
  const elements: string[] = [];
  for (let at = skipBlanks(array, 1); !isClosing(array, at); at = skipComma(array, at)) {
    const end = endOfValue(array, at);
    elements.push(array.slice(at, end));
    at = end;
  }
  return elements;
}

/** The members of an object by name, each value as it is written; of a repeated name the last one, as in JSON.parse. */
export function membersOf(object: string): Map<string, string> {
  const members = new Map<string, string>();
  for (let at = skipBlanks(object, 1); !isClosing(object, at); at = skipComma(object, at)) {
    const endOfName = endOfString(object, at);
    const begin = skipBlanks(object, skipBlanks(object, endOfName) + 1);
    const end = endOfValue(object, begin);
    members.set(readString(object.slice(at, endOfName)), object.slice(begin, end));
    at = end;
  }
  return members;
}

/** Whether it is the text of an object, as opposed to any other value. */
export function isObjectText(value: string): boolean {
  return value.startsWith('{');
}

/** Whether it is the text of a string. */
export function isStringText(value: string): boolean {
  return value.startsWith('"');
}

/** Whether it is the text of a number. */
export function isNumberText(value: string): boolean {
  return /^[-\d]/.test(value);
}

/** What the text of a string says. */
export function readString(text: string): string {
  return JSON.parse(text) as string;
}

/** The same value on one line: as it is, or without any blanks outside of strings where there are line breaks among them. */
export function toOneLine(value: string): string {
  // Inside a string a line break is always escaped.
  if (!/[\n\r]/.test(value)) return value;
  const kept: string[] = [];
  for (let at = skipBlanks(value, 0); at < value.length; at = skipBlanks(value, at)) {
    const end = endOfToken(value, at);
    kept.push(value.slice(at, end));
    at = end;
  }
  return kept.join('');
}

function endOfValue(text: string, begin: number): number {
  let depth = 0;
  let at = begin;
  do {
    if (isOpening(text, at)) depth += 1;
    else if (isClosing(text, at)) depth -= 1;
    at = endOfToken(text, at);
  } while (depth > 0 && at < text.length);
  return at;
}

/** A string, one of `[]{},:`, a run of blanks, or a run of anything else: a number or a word. */
function endOfToken(text: string, begin: number): number {
  if (text.charCodeAt(begin) === QUOTE) return endOfString(text, begin);
  if (isBlank(text, begin)) return skipBlanks(text, begin);
  let at = begin + 1;
  if (isWord(text, begin)) while (at < text.length && isWord(text, at)) at += 1;
  return at;
}

function endOfString(text: string, begin: number): number {
  for (let at = begin + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at + 1;
    if (code === BACKSLASH) at += 1;
  }
  return text.length;
}

function skipComma(text: string, at: number): number {
  const next = skipBlanks(text, at);
  return text.charCodeAt(next) === COMMA ? skipBlanks(text, next + 1) : next;
}

function skipBlanks(text: string, begin: number): number {
  let at = begin;
  while (isBlank(text, at)) at += 1;
  return at;
}

/** RFC 8259 §2: nothing else counts as blank. */
function isBlank(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

function isOpening(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code === 0x5b || code === 0x7b;
}

/** Also past the end: nothing goes on there. */
function isClosing(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code === 0x5d || code === 0x7d || at >= text.length;
}

/** What numbers, `true`, `false` and `null` are made of. */
function isWord(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return (
    (code >= 0x30 && code <= 0x39) ||
    (code >= 0x61 && code <= 0x7a) ||
    code === 0x2b ||
    code === 0x2d ||
    code === 0x2e ||
    code === 0x45
  );
}
