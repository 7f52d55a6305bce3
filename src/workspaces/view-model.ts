import { z } from 'zod';
import type { ListedPage } from './listing.ts';
import { toPageHref, toPagination } from './pagination.ts';
import type { Pagination } from './pagination.ts';

/** A workspace as a row shows it. Every text may be hostile: templates escape it. */
interface WorkspaceRow {
  readonly name: string;
  readonly description: string;
  /** Shown in part at first. */
  readonly isLong: boolean;
  readonly created?: { readonly iso: string; readonly day: string; readonly moment: string };
  readonly flags: readonly string[];
}

/** Something to know about the page, with a way on where there is one. */
interface Notice {
  readonly text: string;
  readonly action?: { readonly href: string; readonly label: string };
}

export interface WorkspacesView {
  readonly title: string;
  readonly signedIn: true;
  readonly rows: readonly WorkspaceRow[];
  readonly notice?: Notice;
  /** Which part of the list this is, in words; empty where it is no part. */
  readonly place: string;
  readonly pagination: Pagination;
}

/** Where the browser's pages of workspaces are. */
export const WORKSPACES_ADDRESS = '/workspaces';

/** A page from a service that ignores `limit` stays a page that a browser can show. */
const MOST_ROWS = 1_000;
const LONGEST_NAME = 500;
const LONGEST_DESCRIPTION = 2_000;
/** About three lines of a wide screen. */
const LONG_DESCRIPTION = 240;
const NO_NAME = '–';
/** A page further on than this takes so many steps that a link towards it leads nowhere in earnest. */
const LONGEST_WAY = 10_000;

const text = z.string().optional().catch(undefined);
/** The service promises nothing about its items: whatever has another type counts as absent. */
const workspaceSchema = z
  .object({
    id: z.union([z.string(), z.number()]).optional().catch(undefined),
    name: text,
    title: text,
    description: text,
    createdOn: z.number().optional().catch(undefined),
    locked: z.literal(true).optional().catch(undefined),
    suspended: z.literal(true).optional().catch(undefined),
  })
  .catch({});

/** `asked` is the page in the address; `defaultLimit` the page size where none is given. */
export function toWorkspacesView(listed: ListedPage, asked: number, defaultLimit: number): WorkspacesView {
  const notice = toNotice(listed, asked);
  const pagination = toPagination(listed, WORKSPACES_ADDRESS, defaultLimit);
  return {
    title: listed.page === 1 ? 'Workspaces' : `Workspaces, page ${listed.page}`,
    signedIn: true,
    rows: listed.items.slice(0, MOST_ROWS).map(toWorkspaceRow),
    ...(notice !== undefined && { notice }),
    place: toPlace(pagination),
    pagination,
  };
}

function toPlace({ range, page, previous, next }: Pagination): string {
  const hasOthers = previous !== undefined || next !== undefined;
  return [...(range === undefined ? [] : [range]), ...(hasOthers ? [`Page ${page}`] : [])].join(' · ');
}

function toNotice({ reached, page, limit, items }: ListedPage, asked: number): Notice | undefined {
  if (reached === 'last') return { text: `There is no page ${asked}: this is the last one.` };
  if (reached === 'furthest') {
    return {
      text: `Page ${asked} is too far for one step. This is page ${page}.`,
      ...(asked - page <= LONGEST_WAY && {
        action: {
          href: toPageHref(WORKSPACES_ADDRESS, { limit, page: asked }),
          label: `Go on towards page ${asked}`,
        },
      }),
    };
  }
  if (items.length > MOST_ROWS) {
    return { text: `The service gave ${items.length} items at once: the first ${MOST_ROWS} are shown.` };
  }
  return undefined;
}

function toWorkspaceRow(item: unknown): WorkspaceRow {
  const { id, name, title, description, createdOn, locked, suspended } = workspaceSchema.parse(item);
  const created = createdOn === undefined ? undefined : toCreated(createdOn);
  const names = [name, title, id === undefined ? undefined : String(id)];
  const shown = isVisible(description) ? shorten(description, LONGEST_DESCRIPTION) : '';
  return {
    name: shorten(names.find(isVisible) ?? NO_NAME, LONGEST_NAME),
    description: shown,
    isLong: shown.length > LONG_DESCRIPTION,
    ...(created !== undefined && { created }),
    flags: [...(locked ? ['Locked'] : []), ...(suspended ? ['Suspended'] : [])],
  };
}

/** Whether anything of it can be seen: not only spaces, marks and invisible characters. */
function isVisible(value: string | undefined): value is string {
  return value !== undefined && /[^\p{C}\p{M}\p{Z}]/u.test(value);
}

function shorten(value: string, longest: number): string {
  if (value.length <= longest) return value;
  // Never half of a character that takes two code units.
  return `${value.slice(0, longest).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

const DAY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' });
const MOMENT = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' });
const YEAR_10000 = Date.UTC(10_000, 0);

/** From ms since the epoch; absent where that is no time a workspace can have been made at. */
function toCreated(ms: number): WorkspaceRow['created'] {
  if (ms <= 0 || ms >= YEAR_10000) return undefined;
  const date = new Date(ms);
  return { iso: date.toISOString(), day: DAY.format(date), moment: `${MOMENT.format(date)} UTC` };
}
