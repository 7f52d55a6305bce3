import type { ExportFormat } from './stream.ts';

/** NDJSON: one item per line, as the service sent it. */
export const NDJSON: ExportFormat = {
  extension: 'ndjson',
  contentType: 'application/x-ndjson',
  createWriter: () => ({
    write: (items) => [items.map((item) => `${item}\n`).join('')],
    end: () => '',
  }),
};

// The functions below split JSON text without parsing its values, so that an export preserves large numbers, duplicate names
// and escapes (docs/decisions/0012). These functions expect valid JSON.

/** Returns the elements of an array, each as JSON text. */
export function elementsOf(array: string): string[] {
  return partsOf(array);
}

/** Returns the members of an object, keyed by name, each value as JSON text. If a name is repeated, the last value wins. */
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

/** Removes line breaks and the indentation after them. Strings contain no line breaks, because JSON escapes them. */
export function toOneLine(value: string): string {
  return value.replaceAll(/[\n\r][ \t\n\r]*/g, '');
}

/** Splits an array or object at its top-level commas and colons into elements, or into alternating names and values. */
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
        if (part !== '') parts.push(part); // an empty array or object has no parts
        begin = at + 1;
      }
      if (character === ']' || character === '}') depth -= 1;
    }
  }
  return parts;
}

/** Returns the position of the quote that ends the string starting at `begin`. */
function endOfString(text: string, begin: number): number {
  let end = text.indexOf('"', begin + 1);
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end;
}

/** Returns whether an odd number of backslashes precedes a character. */
function isEscaped(text: string, at: number): boolean {
  let before = at;
  while (text[before - 1] === '\\') before -= 1;
  return (at - before) % 2 === 1;
}
