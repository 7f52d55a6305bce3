/** Whether a text has a visible character: not only blanks, marks and invisible ones. */
export function isVisible(text: unknown): text is string {
  return typeof text === 'string' && /[^\p{C}\p{M}\p{Z}]/u.test(text);
}

export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Cuts a text to a number of UTF-16 code units, never inside a character, and adds an ellipsis. */
export function shorten(text: string, longest: number): string {
  if (text.length <= longest) return text;
  return `${text.slice(0, longest).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

export function capitalise([first = '', ...rest]: string): string {
  return first.toUpperCase() + rest.join('');
}

const MAX_IN_TITLE = 30;

/**
 * A text as a part of a page title. Removes direction marks, which would reorder the words around it, because a title has no
 * markup.
 */
export function toTitlePart(text: string): string {
  const plain = text.replaceAll(/[\p{Bidi_Control}\p{Cc}]/gu, '');
  return shorten(plain.trim(), MAX_IN_TITLE);
}

/** A time as a page shows it: in UTC, until a script converts it to local time. */
export interface Moment {
  /** ISO 8601. */
  readonly iso: string;
  readonly day: string;
  readonly moment: string;
}

const DAY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' });
const MOMENT = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' });
const YEAR_10000 = Date.UTC(10_000, 0);
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d/;

/** Reads ms since the epoch or ISO 8601; undefined for anything else, and for years before 1970 or after 9999. */
export function toMoment(value: unknown): Moment | undefined {
  const ms = typeof value === 'string' && ISO.test(value) ? Date.parse(value) : value;
  if (typeof ms !== 'number' || !(ms > 0 && ms < YEAR_10000)) return undefined;
  const date = new Date(ms);
  return { iso: date.toISOString(), day: DAY.format(date), moment: `${MOMENT.format(date)} UTC` };
}
