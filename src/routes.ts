type Routes = Readonly<Record<string, readonly string[]>>;

/** Express answers HEAD where it answers GET. */
const READ = ['GET', 'HEAD'];

/** Addresses of one page each. */
const PAGES: Routes = {
  '/': READ,
  '/auth/login': READ,
  '/auth/callback': READ,
  '/auth/session': [...READ, 'POST'],
  '/auth/logout': ['POST'],
  '/console': READ,
  '/console/guide': READ,
  '/healthz': READ,
  '/openapi.json': READ,
  '/readyz': READ,
  '/workspaces': READ,
  '/workspaces.csv': READ,
  '/workspaces.ndjson': READ,
};
const INSIDE = /^\/workspaces\/[^/]+(?<kind>\/[^/]+?)?(?<format>\.csv|\.ndjson)?$/;

/**
 * All that toRouteName() ever says, and the methods that each of them knows. Tests hold them to the routes of the app and to
 * openapi.json.
 */
export const ROUTES: Routes = {
  ...PAGES,
  '/workspaces/{id}': READ,
  '/workspaces/{id}/{kind}': READ,
  '/workspaces/{id}/{kind}.csv': READ,
  '/workspaces/{id}/{kind}.ndjson': READ,
  '/api/*': [...READ, 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
  '/assets/*': READ,
  none: [],
};

/**
 * Which of the app’s addresses a target is one of: a template such as `/workspaces/{id}`, of which there are few, and `none`
 * where there is no such page. For logs and metrics, and to decide what there is: an address is taken as it is written, with
 * nothing decoded, folded or left out.
 */
export function toRouteName(target: string): string {
  const path = target.split('?', 1)[0] ?? '';
  if (path.includes('#')) return 'none';
  if (Object.hasOwn(PAGES, path)) return path;
  if (path === '/api' || path.startsWith('/api/')) return '/api/*';
  if (path.startsWith('/assets/')) return '/assets/*';
  const { kind, format = '' } = INSIDE.exec(path)?.groups ?? {};
  if (kind !== undefined) return `/workspaces/{id}/{kind}${format}`;
  return INSIDE.test(path) ? '/workspaces/{id}' : 'none';
}
