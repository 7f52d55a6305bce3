import { toDetails, type Detail } from './item-details.ts';
import { isVisible, shorten, toMoment, type Moment } from './shown-text.ts';

/** What an item is at a glance; `warning` where it keeps people from something. */
interface Flag {
  readonly text: string;
  readonly tone: 'warning' | 'plain';
}

/** An item of any list as a page shows it. Every text may be hostile: templates escape it. */
export interface ItemRow {
  readonly name: string;
  readonly description: string;
  /** Shown in part at first. */
  readonly isLong: boolean;
  readonly created?: Moment;
  readonly updated?: Moment;
  readonly flags: readonly Flag[];
  /** Every other field, in words. */
  readonly details: readonly Detail[];
  /** How many more fields there are. */
  readonly detailsLeft: number;
  /** What it is called at the service, where it has a name there that can stand in an address. */
  readonly id?: string;
}

const LONGEST_NAME = 500;
const LONGEST_DESCRIPTION = 2_000;
/** About three lines of a wide screen. */
const LONG_DESCRIPTION = 240;
const LONGEST_FLAG = 40;
const NO_NAME = 'Without a name';
/**
 * Characters of the long texts of all rows of a page: as HTML they take up to six times as much, and to write more holds everybody
 * else up. Even of a hundred rows each may be longer than items are in earnest.
 */
const MOST_ON_A_PAGE = 1_000_000;

/** The rows of a page, which share what a page can hold. */
export function toItemRows(items: readonly unknown[]): ItemRow[] {
  return items.map((item) => toItemRow(item, MOST_ON_A_PAGE / items.length));
}

/**
 * The service promises nothing about its items: what is missing or of another type is left out, what is unknown goes
 * into the details. `most` bounds its name, which a page prints twice, its description and its details, in UTF-16 code units all
 * together; flags are short, and its id and the times are not counted.
 */
export function toItemRow(item: unknown, most = Infinity): ItemRow {
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
  const { details, left } = toDetails(fields, shown, most / 2);
  const shownDescription = isVisible(description)
    ? shorten(description, Math.min(LONGEST_DESCRIPTION, most / 4))
    : '';
  return {
    name: shorten(shownName ?? id ?? NO_NAME, Math.min(LONGEST_NAME, most / 10)),
    description: shownDescription,
    isLong: shownDescription.length > LONG_DESCRIPTION,
    ...(created && { created }),
    ...(updated && { updated }),
    flags: flags.map(({ text, tone }) => ({ text, tone })),
    details,
    detailsLeft: left,
    ...(id !== undefined && { id }),
  };
}

function toFields(item: unknown): Readonly<Record<string, unknown>> {
  if (typeof item === 'object' && item !== null && !Array.isArray(item)) return { ...item };
  return isVisible(item) ? { name: item } : {};
}

function toId(id: unknown): string | undefined {
  if (typeof id === 'number' && Number.isSafeInteger(id)) return String(id);
  return isVisible(id) ? id : undefined;
}

function toFlags(fields: Readonly<Record<string, unknown>>): (Flag & { readonly field: string })[] {
  const { status, type } = fields;
  const flag = (field: string, text: string, tone: Flag['tone']) => ({ field, text, tone });
  return [
    ...(fields['locked'] === true ? [flag('locked', 'Locked', 'warning')] : []),
    ...(fields['suspended'] === true ? [flag('suspended', 'Suspended', 'warning')] : []),
    ...(fields['confidential'] === true ? [flag('confidential', 'Confidential', 'warning')] : []),
    ...(isVisible(status) && status !== 'active'
      ? [flag('status', toSentence(shorten(status, LONGEST_FLAG)), 'plain')]
      : []),
    ...(isVisible(type) ? [flag('type', toSentence(shorten(type, LONGEST_FLAG)), 'plain')] : []),
    ...(fields['favorite'] === true ? [flag('favorite', 'Favourite', 'plain')] : []),
  ];
}

function toSentence([first = '', ...rest]: string): string {
  return first.toUpperCase() + rest.join('');
}
