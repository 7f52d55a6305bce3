/** Whether anything of it can be seen: not only spaces, marks and invisible characters. */
export function isVisible(text: unknown): text is string {
  return typeof text === 'string' && /[^\p{C}\p{M}\p{Z}]/u.test(text);
}

/** At most so many UTF-16 code units of a text, and then an ellipsis. */
export function shorten(text: string, longest: number): string {
  if (text.length <= longest) return text;
  // Never half of a character that takes two code units.
  return `${text.slice(0, longest).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

const LONGEST_IN_TITLE = 30;

/** A text as a part of a page's title, which has no markup to keep the words beside it from being turned around. */
export function toTitlePart(text: string): string {
  const plain = text.replaceAll(/[\p{Bidi_Control}\p{Cc}]/gu, '');
  return shorten(plain.trim(), LONGEST_IN_TITLE);
}

/** A moment as a page shows it: in UTC until a script knows the reader's zone. */
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

/**
 * From ms since the epoch or an ISO 8601 text; undefined where that is neither, or no time that anything of a
 * workspace can have been made at.
 */
export function toMoment(value: unknown): Moment | undefined {
  const ms = typeof value === 'string' && ISO.test(value) ? Date.parse(value) : value;
  if (typeof ms !== 'number' || !(ms > 0 && ms < YEAR_10000)) return undefined;
  const date = new Date(ms);
  return { iso: date.toISOString(), day: DAY.format(date), moment: `${MOMENT.format(date)} UTC` };
}
