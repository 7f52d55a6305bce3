import { toDetails, type Detail } from './item-details.ts';
import { capitalise, isPlainObject, isVisible, shorten, toMoment, type Moment } from './shown-text.ts';

/** What an item is at a glance. A warning means that it restricts people. */
interface Flag {
  readonly text: string;
  readonly tone: 'warning' | 'plain';
}

/** An item of any list as a page shows it. Its texts may be hostile: templates escape them. */
export interface ItemView {
  readonly name: string;
  readonly description: string;
  /** The page shows a part of the description at first. */
  readonly isLong: boolean;
  readonly created?: Moment;
  readonly updated?: Moment;
  readonly flags: readonly Flag[];
  /** All other fields, in words. */
  readonly details: readonly Detail[];
  readonly detailsLeft: number;
  /** Absent where the service gives none, or none that a URL can hold. */
  readonly id?: string;
}

const MAX_NAME = 500;
const MAX_DESCRIPTION = 2_000;
/** About three lines on a wide screen. */
const LONG_DESCRIPTION = 240;
const MAX_FLAG = 40;
/**
 * Characters of all texts of a page. HTML may take six times as many bytes, and rendering more would block the event loop. A
 * hundred rows of usual items stay far below.
 */
const MAX_ON_PAGE = 1_000_000;

/** The rows of a page. They share the limit of its texts. */
export function toItemViews(items: readonly unknown[]): ItemView[] {
  return items.map((item) => toItemView(item, MAX_ON_PAGE / items.length));
}

/**
 * The service promises nothing about its items. Missing fields and those of another type are left out, and unknown fields
 * become details. `most` limits name, description and details together, in UTF-16 code units.
 */
export function toItemView(item: unknown, most = Infinity): ItemView {
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
    ? shorten(description, Math.min(MAX_DESCRIPTION, most / 4))
    : '';
  return {
    // A page prints the name twice.
    name: shorten(shownName ?? id ?? 'Without a name', Math.min(MAX_NAME, most / 10)),
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
  if (isPlainObject(item)) return { ...item };
  return isVisible(item) ? { name: item } : {};
}

function toId(id: unknown): string | undefined {
  if (typeof id === 'number' && Number.isSafeInteger(id)) return String(id);
  return isVisible(id) ? id : undefined;
}

function toFlags(fields: Readonly<Record<string, unknown>>): (Flag & { readonly field: string })[] {
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
