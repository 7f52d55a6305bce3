import { capitalise, isVisible, shorten } from './shown-text.ts';

/** An item of any kind, as shown on a page. All text is untrusted, so templates escape it. */
export interface ItemView {
  readonly name: string;
  readonly description: string;
  /** Whether the page initially shows only part of the description. */
  readonly isLong: boolean;
  readonly created?: Moment;
  readonly updated?: Moment;
  readonly flags: readonly Flag[];
  /** All other fields, with readable labels and values. */
  readonly details: readonly Detail[];
  /** Number of fields that `details` omits. */
  readonly detailsLeft: number;
  /** Absent if the service sends no id, or an id without visible characters. */
  readonly id?: string;
}

/** A flag for the state or type of an item. The tone `warning` indicates a restriction on users. */
interface Flag {
  readonly text: string;
  readonly tone: 'warning' | 'plain';
}

/** A field shown under *Details*: its label, and its value as text, a time or a link. */
interface Detail {
  readonly label: string;
  readonly text: string;
  readonly time?: Moment;
  /** An HTTPS URL. */
  readonly href?: string;
}

/** A time as shown on a page: in UTC, until a script converts it to local time. */
interface Moment {
  /** ISO 8601. */
  readonly iso: string;
  readonly day: string;
  readonly moment: string;
}

type Fields = Readonly<Record<string, unknown>>;

const MAX_NAME = 500;
const MAX_DESCRIPTION = 2_000;
/** Length of about three lines on a wide screen. */
const LONG_DESCRIPTION = 240;
const MAX_FLAG = 40;
const MAX_DETAILS = 40;
const MAX_LABEL = 60;
const MAX_DETAIL_TEXT = 500;
const MAX_URL = 2_048;
/** Maximum number of values in an array or object shown as JSON. */
const MAX_JSON_VALUES = 1_000;
/**
 * Maximum total number of characters in the items on a page. The HTML may take six times as many bytes, and rendering more would
 * block the event loop. A hundred typical items stay far below this limit.
 */
const MAX_ON_PAGE = 1_000_000;

/** Returns the views of the items on a page. The items share the text limit for the page. */
export function toItemViews(items: readonly unknown[]): ItemView[] {
  return items.map((item) => toItemView(item, MAX_ON_PAGE / items.length));
}

/**
 * Returns the view of an item. The service doesn't specify the shape of its items, so fields that are unknown or have an
 * unexpected type become details. `maxCharacters` limits name, description and details together, in UTF-16 code units.
 */
export function toItemView(item: unknown, maxCharacters = Infinity): ItemView {
  const fields = toFields(item);
  const { name, title, description, createdOn, updatedOn } = fields;
  const id = toId(fields['id']);
  const shownName = [name, title].find(isVisible);
  const created = toMoment(createdOn);
  const updated = toMoment(updatedOn);
  const flags = toFlags(fields);
  const shown = new Set<string>([
    ...flags.map(({ field }) => field),
    ...(created ? ['createdOn'] : []),
    ...(updated ? ['updatedOn'] : []),
    ...(typeof description === 'string' ? ['description'] : []),
    ...(shownName !== undefined ? [shownName === name ? 'name' : 'title'] : []),
  ]);
  const shownDescription = isVisible(description)
    ? shorten(description, Math.min(MAX_DESCRIPTION, maxCharacters / 4))
    : '';
  return {
    // The limit for the name is lower, because a page shows the name twice.
    name: shorten(shownName ?? id ?? 'Untitled', Math.min(MAX_NAME, maxCharacters / 10)),
    description: shownDescription,
    isLong: shownDescription.length > LONG_DESCRIPTION,
    ...(created && { created }),
    ...(updated && { updated }),
    flags: flags.map(({ text, tone }) => ({ text, tone })),
    ...toDetails(fields, shown, maxCharacters / 2),
    ...(id !== undefined && { id }),
  };
}

function toFields(item: unknown): Fields {
  if (isPlainObject(item)) return item;
  return isVisible(item) ? { name: item } : {};
}

function toId(id: unknown): string | undefined {
  if (typeof id === 'number' && Number.isSafeInteger(id)) return String(id);
  return isVisible(id) ? id : undefined;
}

function toFlags(fields: Fields): (Flag & { readonly field: string })[] {
  const { status, type } = fields;
  const flag = (field: string, isSet: boolean, text: unknown, tone: Flag['tone'] = 'plain') =>
    isSet && isVisible(text) ? [{ field, text: capitalise(shorten(text, MAX_FLAG)), tone }] : [];
  return [
    ...flag('locked', fields['locked'] === true, 'Locked', 'warning'),
    ...flag('suspended', fields['suspended'] === true, 'Suspended', 'warning'),
    ...flag('confidential', fields['confidential'] === true, 'Confidential', 'warning'),
    ...flag('status', status !== 'active', status),
    ...flag('type', true, type),
    ...flag('favorite', fields['favorite'] === true, 'Favourite'),
  ];
}

/**
 * Returns the fields of an item that are not `shown` elsewhere. An object becomes one detail per member, and deeper values
 * become JSON. `maxCharacters` limits the total length of the details.
 */
function toDetails(
  item: Fields,
  shown: ReadonlySet<string>,
  maxCharacters: number,
): Pick<ItemView, 'details' | 'detailsLeft'> {
  const keys = Object.keys(item).filter((key) => !shown.has(key));
  const details: Detail[] = [];
  let characters = 0;
  for (const detail of detailsOf(item, keys)) {
    characters += detail.label.length + detail.text.length + (detail.href ?? '').length;
    if (details.length === MAX_DETAILS || characters > maxCharacters) break;
    details.push(detail);
  }
  let all = 0;
  for (const key of keys) {
    const value = item[key];
    all += hasOwnDetails(value) ? Object.keys(value).length : 1;
  }
  return { details, detailsLeft: all - details.length };
}

/** Yields details lazily, because an item may have a million fields, and only those shown are worth formatting. */
function* detailsOf(item: Fields, keys: readonly string[]): Generator<Detail> {
  for (const key of keys) {
    const label = LABELS.get(key) ?? toLabel(key);
    const value = item[key];
    if (!hasOwnDetails(value)) yield toDetail(label, key, value);
    else
      for (const [name, part] of Object.entries(value))
        yield toDetail(LABELS.get(`${key}.${name}`) ?? `${label} › ${toLabel(name)}`, name, part);
  }
}

/** Returns whether each member of a value becomes its own detail. A named person or an empty object becomes a single detail. */
function hasOwnDetails(value: unknown): value is Fields {
  return isPlainObject(value) && toPersonName(value) === undefined && Object.keys(value).length > 0;
}

/** Labels for known fields for which toLabel() gives a poor result. */
const LABELS: ReadonlyMap<string, string> = new Map([
  ['id', 'ID'],
  ['isMember', 'Member'],
  ['companyId', 'Company'],
  ['workspaceId', 'Workspace'],
  ['roomId', 'Room'],
  ['folderId', 'Folder'],
  ['thumbnailUrl', 'Thumbnail'],
  ['sharingSettings.link', 'Invitation link'],
]);

/** Matches the names of fields that hold a time. */
const TIME_NAME = /(?:On|At|Ends)$/;
/** A number below this limit is a count or a time in seconds, not a time in milliseconds. */
const YEAR_2000 = Date.UTC(2000, 0);

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
  if (typeof value === 'string') return isVisible(value) ? shorten(value, MAX_DETAIL_TEXT) : '–';
  if (typeof value !== 'object' || value === null) return '–';
  if ((Array.isArray(value) ? value : Object.keys(value)).length === 0) return '–';
  const person = isPlainObject(value) ? toPersonName(value) : undefined;
  return person === undefined ? toJson(value) : shorten(person, MAX_DETAIL_TEXT);
}

/** Returns the start of a value as JSON, or a note if the value is too large or too deeply nested. */
function toJson(value: unknown): string {
  let left = MAX_JSON_VALUES;
  try {
    const json = JSON.stringify(value, (_key, part: unknown) => {
      left -= 1;
      if (left < 0) throw new RangeError('too many values');
      return typeof part === 'string' ? shorten(part, MAX_DETAIL_TEXT) : part;
    });
    return shorten(json, MAX_DETAIL_TEXT);
  } catch {
    return '(too large or too deeply nested to show)';
  }
}

/** Returns the name of a field in words: `trialEnds` becomes `Trial ends`. */
function toLabel(key: string): string {
  const name = shorten(key, MAX_LABEL);
  if (!isVisible(name)) return '(no name)';
  const words = name
    .replaceAll(/(?<=[\p{Ll}\d])(?=\p{Lu})/gu, ' ')
    .replaceAll(/[_-]+/g, ' ')
    .trim();
  return capitalise((isVisible(words) ? words : name).toLowerCase());
}

function toPersonName({ firstName, lastName }: Fields): string | undefined {
  const names = [firstName, lastName].filter(isVisible);
  return names.length === 0 ? undefined : names.join(' ');
}

/** Returns whether a string is an HTTPS URL. Links with other schemes could run scripts or send data unencrypted. */
function isHttpsUrl(text: string): boolean {
  return text.length <= MAX_URL && /^https:\/\/[^\s\p{C}]+$/u.test(text) && URL.canParse(text);
}

/** The formats of dates. They are created for the first date, because creating them loads 5 MB of ICU's data. */
let formats: { day: Intl.DateTimeFormat; moment: Intl.DateTimeFormat } | undefined;
const YEAR_10000 = Date.UTC(10_000, 0);
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d/;

/** Parses ms since the epoch or ISO 8601; returns undefined for anything else, and for years before 1970 or after 9999. */
function toMoment(value: unknown): Moment | undefined {
  const ms = typeof value === 'string' && ISO.test(value) ? Date.parse(value) : value;
  if (typeof ms !== 'number' || !(ms > 0 && ms < YEAR_10000)) return undefined;
  const date = new Date(ms);
  formats ??= {
    day: new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' }),
    moment: new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' }),
  };
  return {
    iso: date.toISOString(),
    day: formats.day.format(date),
    moment: `${formats.moment.format(date)} UTC`,
  };
}

function isPlainObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
