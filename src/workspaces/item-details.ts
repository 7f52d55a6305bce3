import { isVisible, shorten, toMoment, type Moment } from './shown-text.ts';

/** A field of an item in the tidy list behind it: its name in words, and its value as a text, a time or a link. */
export interface Detail {
  readonly label: string;
  readonly text: string;
  readonly time?: Moment;
  /** An https address. */
  readonly href?: string;
}

const MOST_DETAILS = 40;
const LONGEST_LABEL = 60;
const LONGEST_TEXT = 500;
/** In an array or object that is shown as JSON. */
const MOST_VALUES = 1_000;
/** Fields whose names end like this hold a time, where it can be one. */
const NAMES_A_TIME = /(?:On|At|Ends)$/;
/** A number below it is no time in milliseconds but a count, or seconds. */
const YEAR_2000 = Date.UTC(2000, 0);

/**
 * The fields of an item as a list to read, without those that are shown elsewhere (`shown`). Nothing is known of an
 * item's shape: whatever has another type is text in JSON. Objects are taken apart one level deep. What comes after `most`
 * characters is left out.
 */
export function toDetails(
  item: object,
  shown: ReadonlySet<string>,
  most: number,
): { details: Detail[]; left: number } {
  const fields = Object.entries(item).filter(([key]) => !shown.has(key));
  const details: Detail[] = [];
  let characters = 0;
  for (const detail of detailsOf(fields)) {
    characters += detail.label.length + detail.text.length + (detail.href ?? '').length;
    if (details.length === MOST_DETAILS || characters > most) break;
    details.push(detail);
  }
  const all = fields.reduce(
    (sum, [, value]) => sum + (isTakenApart(value) ? Object.keys(value).length : 1),
    0,
  );
  return { details, left: all - details.length };
}

/** One at a time: an item may have a million fields, and only what is shown is worth putting into words. */
function* detailsOf(fields: readonly [string, unknown][]): Generator<Detail> {
  for (const [key, value] of fields) {
    const label = toLabel(key);
    if (!isTakenApart(value)) yield toDetail(label, key, value);
    else
      for (const [name, part] of Object.entries(value))
        yield toDetail(`${label} › ${toLabel(name)}`, name, part);
  }
}

/** Somebody who is named is one field, and so is what is empty. */
function isTakenApart(value: unknown): value is Readonly<Record<string, unknown>> {
  return isPlainObject(value) && toPersonName(value) === undefined && Object.keys(value).length > 0;
}

function toDetail(label: string, key: string, value: unknown): Detail {
  const isTime = NAMES_A_TIME.test(key) && !(typeof value === 'number' && value < YEAR_2000);
  const time = isTime ? toMoment(value) : undefined;
  const href = typeof value === 'string' ? toHttpsAddress(value) : undefined;
  return {
    label,
    text: time?.day ?? toText(value),
    ...(time !== undefined && { time }),
    ...(href !== undefined && { href }),
  };
}

function toText(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'Yes' : 'No';
  if (typeof value === 'number') return String(value);
  if (typeof value === 'string') return isVisible(value) ? shorten(value, LONGEST_TEXT) : '–';
  if (value === null || value === undefined) return '–';
  if (Array.isArray(value) && value.length === 0) return '–';
  if (isPlainObject(value)) {
    const person = toPersonName(value);
    if (person !== undefined) return shorten(person, LONGEST_TEXT);
    if (Object.keys(value).length === 0) return '–';
  }
  return toJson(value);
}

/** The beginning of a value in JSON; what is large is not written whole to be cut. */
function toJson(value: unknown): string {
  try {
    return shorten(JSON.stringify(value, createBudget()), LONGEST_TEXT);
  } catch {
    return '(too large or nested too deeply to be shown)';
  }
}

/** Throws once so many values have been written: long before the stack or anybody's patience ends. */
function createBudget(): (key: string, value: unknown) => unknown {
  let left = MOST_VALUES;
  return (_key, value) => {
    left -= 1;
    if (left < 0) throw new RangeError('too many values');
    return typeof value === 'string' ? shorten(value, LONGEST_TEXT) : value;
  };
}

/** `companyId` becomes `Company id`. */
function toLabel(key: string): string {
  const name = shorten(key, LONGEST_LABEL);
  if (!isVisible(name)) return '(no name)';
  const words = name
    .replaceAll(/(?<=[\p{Ll}\d])(?=\p{Lu})/gu, ' ')
    .replaceAll(/[_-]+/g, ' ')
    .trim();
  const [first = '', ...rest] = isVisible(words) ? words : name;
  return first.toUpperCase() + rest.join('').toLowerCase();
}

function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Somebody, where an item names them. */
function toPersonName({ firstName, lastName }: Readonly<Record<string, unknown>>): string | undefined {
  const names = [firstName, lastName].filter(isVisible);
  return names.length === 0 ? undefined : names.join(' ');
}

/** Other schemes run scripts, or lead to where nobody is protected. */
function toHttpsAddress(text: string): string | undefined {
  return text.length <= 2_048 && /^https:\/\/[^\s\p{C}]+$/u.test(text) && URL.canParse(text)
    ? text
    : undefined;
}
