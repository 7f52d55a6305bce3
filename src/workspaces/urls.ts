import { checkTarget } from '../upstream/target.ts';

/** A list of the service, and where the browser shows it. */
export interface ListPaths {
  /** Path on the service, percent-encoded where needed, without a query. */
  readonly servicePath: string;
  /** Our own path, without a query. Exports add `.csv` and `.ndjson`. */
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
 * Whether an id is safe as one segment of a path, however a server decodes it. Refuses separators, escapes and dot segments,
 * and every id that the gateway refuses. The service promises nothing about its ids.
 */
export function isPathId(id: string): boolean {
  if (id.length === 0 || id.length > MAX_ID_LENGTH || /[/\\%;?#\p{Cc}\p{Cs}\p{Z}]/u.test(id)) return false;
  return checkTarget(workspaceServicePath(id), [`${WORKSPACES.servicePath}/`]) === 'forward';
}

/** Path of a workspace on the service. `isPathId` must accept the id. */
export function workspaceServicePath(id: string): string {
  return `${WORKSPACES.servicePath}/${encodeURIComponent(id)}`;
}

/** Our own path of a workspace. `isPathId` must accept the id. */
export function workspacePath(id: string): string {
  return `${WORKSPACES.path}/${encodeURIComponent(id)}`;
}

/** Items of one kind inside a workspace (docs/local-service.md, 4.5; `WORKSPACE_ITEMS`). */
export function itemListPaths(workspaceId: string, kind: string): ListPaths {
  return {
    servicePath: `${workspaceServicePath(workspaceId)}/${kind}`,
    path: `${workspacePath(workspaceId)}/${kind}`,
  };
}

/** Parameters of a query, as Express parses them or as a link needs them. */
type ParsedQuery = Readonly<Record<string, unknown>>;
export type QueryParams = Readonly<Record<string, string | number | undefined>>;

/** A path with a query. Leaves out parameters that are undefined or empty. */
export function toHref(path: string, params: QueryParams): string {
  const parts = Object.entries(params).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  return parts.length === 0 ? path : `${path}?${parts.join('&')}`;
}

/** Which page of a list a URL requests. */
export interface PageParams {
  readonly limit: number;
  readonly page: number;
}

const MAX_LIMIT = 100;
/** Far more pages than any list has. */
const MAX_PAGE = 1_000_000;

/**
 * Reads `limit` (1 to 100) and `page` (1 to 1,000,000) from a query. Clamps them, and ignores values that are not whole
 * numbers.
 */
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
  /** Page at which the search starts, counted from 1 in pages of a search. */
  readonly from: number;
  /** The page that the search came from, and that *Show all* leads back to. */
  readonly origin: PageParams;
}

const MAX_WORDS_LENGTH = 200;

/** Reads `find` and `from` from a query; null where it requests no search. */
export function parseSearch(query: ParsedQuery, defaultLimit: number): SearchParams | null {
  const { find, from } = query;
  if (typeof find !== 'string' || find.trim() === '') return null;
  const words = find.trim().slice(0, MAX_WORDS_LENGTH);
  return {
    words: words.replace(/[\uD800-\uDBFF]$/, ''), // encodeURIComponent() throws on half a surrogate pair
    from: parsePage({ page: from }, 1).page,
    origin: parsePage(query, defaultLimit),
  };
}

/** The parameters of a page: none for the first page of the default size. */
export function pageParams({ limit, page }: PageParams, defaultLimit: number): QueryParams {
  return page === 1 && limit === defaultLimit ? {} : { limit, page };
}

export function searchParams({ words, from, origin }: SearchParams, defaultLimit: number): QueryParams {
  return { find: words, from: from === 1 ? undefined : from, ...pageParams(origin, defaultLimit) };
}

/** The query of a page or search of workspaces, for the parameter `back` of other URLs; empty for the first page. */
export function toBackQuery(place: PageParams | SearchParams, defaultLimit: number): string {
  const params = 'words' in place ? searchParams(place, defaultLimit) : pageParams(place, defaultLimit);
  return toHref('', params).slice(1);
}

export interface BackLink {
  readonly href: string;
  readonly label: string;
}

/** The link that `back` stands for. Composes it from parsed parameters, so that it leads to no other page or site. */
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
