import { toHref } from './urls.ts';
import type { FindAddress, WayBack } from './urls.ts';
import type { Found } from './search.ts';
import { toItemRow } from './item-row.ts';
import type { ItemRow } from './item-row.ts';
import { toFoundView, toLabel, toPageView } from './list-view.ts';
import type { ListView, ShownList } from './list-view.ts';
import { toItemsList, toWorkspaceAddress } from './list-paths.ts';
import type { ListedPage } from './page-by-number.ts';
import { toTitlePart } from './shown-text.ts';

/** One kind of item inside a workspace, as an address asks for it. */
export interface WorkspacePlace {
  readonly id: string;
  readonly kind: string;
  /** All kinds, in the order of the tabs. */
  readonly kinds: readonly string[];
  /** The query of the page of workspaces that somebody came from. */
  readonly back?: string;
  readonly wayBack: WayBack;
  readonly defaultLimit: number;
}

interface WorkspaceView {
  readonly title: string;
  readonly signedIn: true;
  readonly room: 'workspaces';
  /** What is known of the workspace: at least how it is called in the address. */
  readonly workspace: ItemRow;
  readonly wayBack: WayBack;
  readonly tabs: readonly { readonly label: string; readonly href: string; readonly current: boolean }[];
  readonly list: ListView;
}

/** Makes the page once it is known what the service says of the workspace itself; null where it says nothing. */
type ToWorkspaceView = (workspace: unknown) => WorkspaceView;

/** A page of items; `asked` is the page in the address. */
export function toWorkspaceView(place: WorkspacePlace, listed: ListedPage, asked: number): ToWorkspaceView {
  const list = toPageView(toShownList(place), listed, asked);
  const page = listed.page === 1 ? '' : `, page ${listed.page}`;
  return (workspace) => toView(place, workspace, list, page);
}

/** What was found among the items of a kind. */
export function toFoundItemsView(place: WorkspacePlace, found: Found, find: FindAddress): ToWorkspaceView {
  const list = toFoundView(toShownList(place), found, find);
  return (workspace) => toView(place, workspace, list, ` that match “${toTitlePart(find.words)}”`);
}

function toView(place: WorkspacePlace, item: unknown, list: ListView, which: string): WorkspaceView {
  const { id, kind, kinds, back, wayBack } = place;
  const workspace = toItemRow(item ?? { id });
  return {
    title: `${toLabel(toWords(kind))} in ${toTitlePart(workspace.name)}${which}`,
    signedIn: true,
    room: 'workspaces',
    workspace,
    wayBack,
    tabs: kinds.map((each, index) => ({
      label: toLabel(toWords(each)),
      href: toHref(index === 0 ? toWorkspaceAddress(id) : toItemsList(id, each).address, { back }),
      current: each === kind,
    })),
    list,
  };
}

function toShownList({ id, kind, back, defaultLimit }: WorkspacePlace): ShownList {
  return {
    kind: toWords(kind),
    address: toItemsList(id, kind).address,
    ...(back !== undefined && { back }),
    empty: `There are no ${toWords(kind)} in this workspace yet.`,
    hrefOf: () => undefined,
    defaultLimit,
  };
}

function toWords(kind: string): string {
  return kind.replaceAll('-', ' ');
}
