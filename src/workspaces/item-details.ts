import { capitalise, isPlainObject, isVisible, shorten, toMoment, type Moment } from './shown-text.ts';

/** One field of an item under *Details*: its name in words, and its value as text, time or link. */
export interface Detail {
  readonly label: string;
  readonly text: string;
  readonly time?: Moment;
  /** An https URL. */
  readonly href?: string;
}

const MAX_DETAILS = 40;
const MAX_LABEL = 60;
const MAX_TEXT = 500;
const MAX_URL = 2_048;
/** Values of an array or object that is shown as JSON. */
const MAX_VALUES = 1_000;
/** Names of fields that hold a time. */
const TIME_NAME = /(?:On|At|Ends)$/;
/** A smaller number is a count or seconds, not a time in milliseconds. */
const YEAR_2000 = Date.UTC(2000, 0);

/**
 * The fields of an item that are not shown elsewhere (`shown`). Objects become one detail for each member, and deeper values
 * JSON. `most` limits the characters; `left` counts the fields left out.
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
    if (details.length === MAX_DETAILS || characters > most) break;
    details.push(detail);
  }
  const all = fields.reduce(
    (sum, [, value]) => sum + (hasOwnDetails(value) ? Object.keys(value).length : 1),
    0,
  );
  return { details, left: all - details.length };
}

/** Yields lazily, because an item may have a million fields, and only the shown ones are worth formatting. */
function* detailsOf(fields: readonly [string, unknown][]): Generator<Detail> {
  for (const [key, value] of fields) {
    const label = toLabel(key);
    if (!hasOwnDetails(value)) yield toDetail(label, key, value);
    else
      for (const [name, part] of Object.entries(value))
        yield toDetail(`${label} › ${toLabel(name)}`, name, part);
  }
}

/** A person with a name is one detail, and so is an empty object. */
function hasOwnDetails(value: unknown): value is Readonly<Record<string, unknown>> {
  return isPlainObject(value) && toPersonName(value) === undefined && Object.keys(value).length > 0;
}

function toDetail(label: string, key: string, value: unknown): Detail {
  const isTime = TIME_NAME.test(key) && !(typeof value === 'number' && value < YEAR_2000);
  const time = isTime ? toMoment(value) : undefined;
  const href = typeof value === 'string' && isHttpsUrl(value) ? value : undefined;
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
  if (typeof value === 'string') return isVisible(value) ? shorten(value, MAX_TEXT) : '–';
  if (typeof value !== 'object' || value === null) return '–';
  if ((Array.isArray(value) ? value : Object.keys(value)).length === 0) return '–';
  const person = isPlainObject(value) ? toPersonName(value) : undefined;
  return person === undefined ? toJson(value) : shorten(person, MAX_TEXT);
}

/**
 * The start of a value as JSON. Stops early, because a whole value may be large or nested deeply enough to overflow the stack.
 */
function toJson(value: unknown): string {
  let left = MAX_VALUES;
  try {
    const json = JSON.stringify(value, (_key, part: unknown) => {
      left -= 1;
      if (left < 0) throw new RangeError('too many values');
      return typeof part === 'string' ? shorten(part, MAX_TEXT) : part;
    });
    return shorten(json, MAX_TEXT);
  } catch {
    return '(too large or too deeply nested to show)';
  }
}

/** `companyId` becomes `Company id`. */
function toLabel(key: string): string {
  const name = shorten(key, MAX_LABEL);
  if (!isVisible(name)) return '(no name)';
  const words = name
    .replaceAll(/(?<=[\p{Ll}\d])(?=\p{Lu})/gu, ' ')
    .replaceAll(/[_-]+/g, ' ')
    .trim();
  return capitalise((isVisible(words) ? words : name).toLowerCase());
}

function toPersonName({ firstName, lastName }: Readonly<Record<string, unknown>>): string | undefined {
  const names = [firstName, lastName].filter(isVisible);
  return names.length === 0 ? undefined : names.join(' ');
}

/** A link with another scheme could run a script or send data unencrypted. */
function isHttpsUrl(text: string): boolean {
  return text.length <= MAX_URL && /^https:\/\/[^\s\p{C}]+$/u.test(text) && URL.canParse(text);
}
