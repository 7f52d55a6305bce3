import { toItemView } from './item-view.ts';
import { toListView, toSearchResultView, type ListView, type ShownList } from './list-view.ts';
import type { ListedPage } from './paging.ts';
import type { SearchResult } from './search.ts';
import { capitalise, shorten } from './shown-text.ts';
import {
  isPathId,
  itemListPaths,
  toBackQuery,
  toHref,
  workspacePath,
  WORKSPACES,
  type BackLink,
  type SearchParams,
} from './urls.ts';

/** The items of one kind in a workspace, as specified by a URL. */
export interface WorkspacePlace {
  readonly id: string;
  readonly kind: string;
  /** All kinds, in the order of the tabs. */
  readonly kinds: readonly string[];
  /** Query of the workspaces page that the user came from. */
  readonly back?: string;
  readonly backLink: BackLink;
  readonly defaultLimit: number;
}

/** Returns the view of a page of workspaces. `requested` is the page number in the URL. */
export function toWorkspacesView(listed: ListedPage, requested: number, defaultLimit: number) {
  const list = toWorkspaceList(toBackQuery(listed, defaultLimit), defaultLimit);
  const title = listed.page === 1 ? 'Workspaces' : `Workspaces, page ${listed.page}`;
  return { title, signedIn: true, section: 'workspaces', list: toListView(list, listed, requested) };
}

/** Returns the view of the workspaces that a search found. */
export function toWorkspaceSearchView(result: SearchResult, search: SearchParams, defaultLimit: number) {
  const list = toWorkspaceList(toBackQuery(search, defaultLimit), defaultLimit);
  const title = `Workspaces that match “${toTitlePart(search.words)}”`;
  return { title, signedIn: true, section: 'workspaces', list: toSearchResultView(list, result, search) };
}

/** Returns a function that takes a workspace from the service, or null, and creates the view of a page of its items. */
export function toItemsView(place: WorkspacePlace, listed: ListedPage, requested: number) {
  const list = toListView(toItemList(place), listed, requested);
  const page = listed.page === 1 ? '' : `, page ${listed.page}`;
  return (workspace: unknown) => toWorkspaceView(place, workspace, list, page);
}

/** Returns a function that takes a workspace from the service, or null, and creates the view of its search results. */
export function toItemSearchView(place: WorkspacePlace, result: SearchResult, search: SearchParams) {
  const list = toSearchResultView(toItemList(place), result, search);
  const part = ` that match “${toTitlePart(search.words)}”`;
  return (workspace: unknown) => toWorkspaceView(place, workspace, list, part);
}

function toWorkspaceView(place: WorkspacePlace, item: unknown, list: ListView, part: string) {
  const { id, kind, kinds, back, backLink } = place;
  const workspace = toItemView(item ?? { id });
  return {
    title: `${toLabel(kind)} in ${toTitlePart(workspace.name)}${part}`,
    signedIn: true,
    section: 'workspaces',
    workspace,
    backLink,
    tabs: kinds.map((each, index) => ({
      label: toLabel(each),
      href: toHref(index === 0 ? workspacePath(id) : itemListPaths(id, each).path, { back }),
      current: each === kind,
    })),
    list,
  };
}

function toWorkspaceList(back: string, defaultLimit: number): ShownList {
  return {
    kind: 'workspaces',
    path: WORKSPACES.path,
    empty: 'You have no workspaces yet. Workspaces that you are invited to will appear here.',
    defaultLimit,
    hrefOf: ({ id }) => (id === undefined || !isPathId(id) ? undefined : toHref(workspacePath(id), { back })),
  };
}

function toItemList({ id, kind, back, defaultLimit }: WorkspacePlace): ShownList {
  return {
    kind: toWords(kind),
    path: itemListPaths(id, kind).path,
    ...(back !== undefined && { back }),
    empty: `There are no ${toWords(kind)} in this workspace yet.`,
    hrefOf: () => undefined,
    defaultLimit,
  };
}

const MAX_IN_TITLE = 30;

/** Formats text for a page title. Removes direction marks, which would reorder the surrounding words. */
function toTitlePart(text: string): string {
  const plain = text.replaceAll(/[\p{Bidi_Control}\p{Cc}]/gu, '');
  return shorten(plain.trim(), MAX_IN_TITLE);
}

function toWords(kind: string): string {
  return kind.replaceAll('-', ' ');
}

function toLabel(kind: string): string {
  return capitalise(toWords(kind));
}
