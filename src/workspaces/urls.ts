import { checkTarget } from '../upstream/target.ts';

/** The paths of a list on the service and in Cloakroom. */
export interface ListPaths {
  /** Path on the service, percent-encoded where needed, without a query. */
  readonly servicePath: string;
  /** Cloakroom's own path, without a query. Exports append `.csv` or `.ndjson`. */
  readonly path: string;
}

const API = '/api/public/v1';
const MAX_ID_LENGTH = 256;

/** The list of workspaces (docs/local-service.md, 4.4). */
export const WORKSPACES = {
  servicePath: `${API}/workspaces`,
  path: '/workspaces',
} as const satisfies ListPaths;

/**
 * Returns whether an id is safe as a single path segment, however a server decodes it. Refuses separators, escapes, dot
 * segments, and any id that the gateway would refuse. The service doesn't specify the format of its ids.
 */
export function isPathId(id: string): boolean {
  if (id.length === 0 || id.length > MAX_ID_LENGTH || /[/\\%;?#\p{Cc}\p{Cs}\p{Z}]/u.test(id)) return false;
  return checkTarget(workspaceServicePath(id), [`${WORKSPACES.servicePath}/`]) === 'forward';
}

/** Returns the path of a workspace on the service. `isPathId` must accept the id. */
export function workspaceServicePath(id: string): string {
  return `${WORKSPACES.servicePath}/${encodeURIComponent(id)}`;
}

/** Returns Cloakroom's own path for a workspace. `isPathId` must accept the id. */
export function workspacePath(id: string): string {
  return `${WORKSPACES.path}/${encodeURIComponent(id)}`;
}

/** Returns the paths for the items of one kind in a workspace (docs/local-service.md, 4.5; `WORKSPACE_ITEMS`). */
export function itemListPaths(workspaceId: string, kind: string): ListPaths {
  return {
    servicePath: `${workspaceServicePath(workspaceId)}/${kind}`,
    path: `${workspacePath(workspaceId)}/${kind}`,
  };
}

/** Query parameters, as parsed by Express. */
type ParsedQuery = Readonly<Record<string, unknown>>;
export type QueryParams = Readonly<Record<string, string | number | undefined>>;

/** Returns a path with a query. Omits parameters that are undefined or empty. */
export function toHref(path: string, params: QueryParams): string {
  const parts = Object.entries(params).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  return parts.length === 0 ? path : `${path}?${parts.join('&')}`;
}

/** The page of a list that a URL requests. */
export interface PageParams {
  readonly limit: number;
  readonly page: number;
}

const MAX_LIMIT = 100;
/** Maximum page number, far beyond the end of any real list. */
const MAX_PAGE = 1_000_000;

/** Reads `limit` (1 to 100) and `page` (1 to 1,000,000) from a query, and clamps both. Ignores values that are not integers. */
export function parsePage(query: ParsedQuery, defaultLimit: number): PageParams {
  const limit = parseWholeNumber(query['limit']) ?? defaultLimit;
  const page = parseWholeNumber(query['page']) ?? 1;
  return {
    limit: Math.min(Math.max(1, limit), MAX_LIMIT),
    page: Math.min(Math.max(1, page), MAX_PAGE),
  };
}

function parseWholeNumber(value: unknown): number | undefined {
  return typeof value === 'string' && /^[+-]?\d+$/.test(value) ? Number(value) : undefined;
}

export interface SearchParams {
  readonly words: string;
  /** Page at which the search starts, counted from 1 in pages of 100 items. */
  readonly from: number;
  /** The page from which the user started the search, and to which *Show all* leads back. */
  readonly origin: PageParams;
}

const MAX_WORDS_LENGTH = 200;

/** Reads `find` and `from` from a query; returns null if the query doesn't request a search. */
export function parseSearch(query: ParsedQuery, defaultLimit: number): SearchParams | null {
  const { find, from } = query;
  if (typeof find !== 'string' || find.trim() === '') return null;
  const words = find.trim().slice(0, MAX_WORDS_LENGTH);
  return {
    words: words.replace(/[\uD800-\uDBFF]$/, ''), // encodeURIComponent() throws on a lone surrogate
    from: parsePage({ page: from }, 1).page,
    origin: parsePage(query, defaultLimit),
  };
}

/** Returns the URL parameters for a page: none for the first page at the default size. */
export function pageParams({ limit, page }: PageParams, defaultLimit: number): QueryParams {
  return page === 1 && limit === defaultLimit ? {} : { limit, page };
}

export function searchParams({ words, from, origin }: SearchParams, defaultLimit: number): QueryParams {
  return { find: words, from: from === 1 ? undefined : from, ...pageParams(origin, defaultLimit) };
}

/** Returns the query of a workspaces page or search, for the `back` parameter in other URLs; empty for the first page. */
export function toBackQuery(place: PageParams | SearchParams, defaultLimit: number): string {
  const params = 'words' in place ? searchParams(place, defaultLimit) : pageParams(place, defaultLimit);
  return toHref('', params).slice(1);
}

export interface BackLink {
  readonly href: string;
  readonly label: string;
}

/** Returns the link for `back`, composed from parsed parameters so that it can't lead to another page or site. */
export function parseBackLink(query: ParsedQuery, defaultLimit: number): BackLink {
  const { back } = query;
  const params = Object.fromEntries(new URLSearchParams(typeof back === 'string' ? back : ''));
  const search = parseSearch(params, defaultLimit);
  const page = parsePage(params, defaultLimit);
  const kept = toBackQuery(search ?? page, defaultLimit);
  const href = kept === '' ? WORKSPACES.path : `${WORKSPACES.path}?${kept}`;
  if (search !== null) return { href, label: `Workspaces that match “${search.words}”` };
  return { href, label: page.page === 1 ? 'Workspaces' : `Workspaces, page ${page.page}` };
}
