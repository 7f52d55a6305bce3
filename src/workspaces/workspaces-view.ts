import { toHref, toPlaceQuery } from './urls.ts';
import type { FindAddress } from './urls.ts';
import type { Found } from './search.ts';
import { toFoundView, toPageView } from './list-view.ts';
import type { ListView, ShownList } from './list-view.ts';
import { isPathId, toWorkspaceAddress, WORKSPACES } from './list-paths.ts';
import type { ListedPage } from './page-by-number.ts';
import { toTitlePart } from './shown-text.ts';

export interface WorkspacesView {
  readonly title: string;
  readonly signedIn: true;
  readonly room: 'workspaces';
  readonly list: ListView;
}

const EMPTY = 'You have no workspaces yet. Those that you are invited to will be listed here.';

/** A page of the list of workspaces; `asked` is the page in the address, `defaultLimit` the size where none is given. */
export function toWorkspacesView(listed: ListedPage, asked: number, defaultLimit: number): WorkspacesView {
  const list = toShownList(toPlaceQuery(listed, defaultLimit), defaultLimit);
  return {
    title: listed.page === 1 ? 'Workspaces' : `Workspaces, page ${listed.page}`,
    signedIn: true,
    room: 'workspaces',
    list: toPageView(list, listed, asked),
  };
}

/** What was found. */
export function toFoundWorkspacesView(found: Found, find: FindAddress, defaultLimit: number): WorkspacesView {
  const list = toShownList(toPlaceQuery(find, defaultLimit), defaultLimit);
  return {
    title: `Workspaces that match “${toTitlePart(find.words)}”`,
    signedIn: true,
    room: 'workspaces',
    list: toFoundView(list, found, find),
  };
}

function toShownList(place: string, defaultLimit: number): ShownList {
  return {
    kind: 'workspaces',
    address: WORKSPACES.address,
    empty: EMPTY,
    defaultLimit,
    hrefOf: ({ id }) =>
      id === undefined || !isPathId(id) ? undefined : toHref(toWorkspaceAddress(id), { back: place }),
  };
}
