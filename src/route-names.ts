/** Addresses of one page each. */
const PAGES = new Set([
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
]);
const INSIDE = /^\/workspaces\/[^/]+(?<kind>\/[^/]+?)?(?<format>\.csv|\.ndjson)?$/;

/**
 * Which of the app’s addresses a target is one of, as Express matches them: a template such as `/workspaces/{id}`, of which there
 * are few, and `none` where there is no such page. For logs and metrics.
 */
export function toRouteName(target: string): string {
  const end = target.search(/[?#]/);
  const path = (end < 0 ? target : target.slice(0, end)).toLowerCase().replace(/(?<=[^/])\/$/, '');
  if (PAGES.has(path)) return path;
  if (path === '/api' || path.startsWith('/api/')) return '/api/*';
  if (path.startsWith('/assets/')) return '/assets/*';
  const { kind, format = '' } = INSIDE.exec(path)?.groups ?? {};
  if (kind !== undefined) return `/workspaces/{id}/{kind}${format}`;
  return INSIDE.test(path) ? '/workspaces/{id}' : 'none';
}
