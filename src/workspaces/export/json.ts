import type { ExportFormat } from './stream.ts';

/** NDJSON: one item a line, as the service sent it. */
export const NDJSON: ExportFormat = {
  extension: 'ndjson',
  contentType: 'application/x-ndjson',
  createWriter: () => ({
    write: (items) => [items.map((item) => `${item}\n`).join('')],
    end: () => '',
  }),
};

// The functions below cut JSON text without parsing its values, so that an export keeps large numbers, repeated names and
// escapes (docs/decisions/0012). They expect text that JSON.parse() has accepted.

/** Returns the elements of an array, each as it is written. */
export function elementsOf(array: string): string[] {
  return partsOf(array);
}

/**
 * Returns the members of an object by name, each value as it is written. Keeps the last value of a repeated name, as
 * JSON.parse() does.
 */
export function membersOf(object: string): Map<string, string> {
  const members = new Map<string, string>();
  const parts = partsOf(object);
  for (let at = 0; at < parts.length; at += 2) members.set(readString(parts[at] ?? ''), parts[at + 1] ?? '');
  return members;
}

export function isObject(value: string): boolean {
  return value.startsWith('{');
}

export function isString(value: string): boolean {
  return value.startsWith('"');
}

export function isNumber(value: string): boolean {
  return /^[-\d]/.test(value);
}

export function readString(text: string): string {
  return JSON.parse(text) as string;
}

/** Removes line breaks and the indentation behind them. Strings contain none, because JSON escapes them. */
export function toOneLine(value: string): string {
  return value.replaceAll(/[\n\r][ \t\n\r]*/g, '');
}

/** Cuts an array or object at its own commas and colons: elements, or names and values in turn. */
function partsOf(container: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let begin = 1;
  for (let at = 0; at < container.length; at += 1) {
    const character = container[at];
    if (character === '"') at = endOfString(container, at);
    else if (character === '[' || character === '{') depth += 1;
    else if (character === ',' || character === ':' || character === ']' || character === '}') {
      if (depth === 1) {
        const part = container.slice(begin, at).trim();
        if (part !== '') parts.push(part); // an empty array or object has none
        begin = at + 1;
      }
      if (character === ']' || character === '}') depth -= 1;
    }
  }
  return parts;
}

/** Position of the quote that ends the string at `begin`. */
function endOfString(text: string, begin: number): number {
  let end = text.indexOf('"', begin + 1);
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end;
}

/** Whether an odd number of backslashes stands before a character. */
function isEscaped(text: string, at: number): boolean {
  let before = at;
  while (text[before - 1] === '\\') before -= 1;
  return (at - before) % 2 === 1;
}
