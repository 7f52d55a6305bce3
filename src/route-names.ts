/** Addresses of one page each. */
const PAGES = [
  '/',
  '/auth/login',
  '/auth/callback',
  '/auth/session',
  '/auth/logout',
  '/console',
  '/console/guide',
  '/healthz',
  '/openapi.json',
  '/readyz',
  '/workspaces',
  '/workspaces.csv',
  '/workspaces.ndjson',
];
const INSIDE = /^\/workspaces\/[^/]+(?<kind>\/[^/]+?)?(?<format>\.csv|\.ndjson)?$/;

/** All that toRouteName() ever says. A test holds them to the routes of the app and to openapi.json. */
export const ROUTE_NAMES: readonly string[] = [
  ...PAGES,
  '/workspaces/{id}',
  '/workspaces/{id}/{kind}',
  '/workspaces/{id}/{kind}.csv',
  '/workspaces/{id}/{kind}.ndjson',
  '/api/*',
  '/assets/*',
  'none',
];

const IS_PAGE: ReadonlySet<string> = new Set(PAGES);

/**
 * Which of the app’s addresses a target is one of, as Express matches them: a template such as `/workspaces/{id}`, of which there
 * are few, and `none` where there is no such page. For logs and metrics.
 */
export function toRouteName(target: string): string {
  const end = target.search(/[?#]/);
  const path = (end < 0 ? target : target.slice(0, end)).replace(/(?<=[^/])\/$/, '');
  if (IS_PAGE.has(path)) return path;
  if (path === '/api' || path.startsWith('/api/')) return '/api/*';
  if (path.startsWith('/assets/')) return '/assets/*';
  const { kind, format = '' } = INSIDE.exec(path)?.groups ?? {};
  if (kind !== undefined) return `/workspaces/{id}/{kind}${format}`;
  return INSIDE.test(path) ? '/workspaces/{id}' : 'none';
}
