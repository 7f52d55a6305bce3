import type { RequestHandler } from 'express';
import { pageNotFound } from './http/error-pages.ts';

/** Routes without path parameters. */
const PAGES: ReadonlySet<string> = new Set([
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
const WORKSPACE_PATH = /^\/workspaces\/[^/]+(?<kind>\/[^/]+?)?(?<format>\.csv|\.ndjson)?$/;

/** All names that toRouteName() can return. Tests compare these names with the app's routes and openapi.json. */
export const ROUTES: readonly string[] = [
  ...PAGES,
  '/workspaces/{id}',
  '/workspaces/{id}/{kind}',
  '/workspaces/{id}/{kind}.csv',
  '/workspaces/{id}/{kind}.ndjson',
  '/api/*',
  '/assets/*',
  'none',
];

/**
 * Returns the route for a request target: a template such as `/workspaces/{id}`, or `none`. Logs, metrics and
 * refuseUnknownPaths() use this name. The path is matched exactly as the client sent it, without decoding.
 */
export function toRouteName(target: string): string {
  const path = target.split('?', 1)[0] ?? '';
  if (path.includes('#')) return 'none';
  if (PAGES.has(path)) return path;
  if (path === '/api' || path.startsWith('/api/')) return '/api/*';
  if (path.startsWith('/assets/')) return '/assets/*';
  const { kind, format = '' } = WORKSPACE_PATH.exec(path)?.groups ?? {};
  if (kind !== undefined) return `/workspaces/{id}/{kind}${format}`;
  return WORKSPACE_PATH.test(path) ? '/workspaces/{id}' : 'none';
}

/** Pages whose address a user may type with a trailing slash. */
const TYPED_PAGES = /^\/(?:console|workspaces)/;

/**
 * Responds with 404 unless the path matches a route exactly. Express alone also accepts a path with a trailing slash or
 * fragment, and a target in absolute form. Such targets could bypass a proxy rule for `/auth/login` or `/readyz`
 * (docs/decisions/0006). A page path with a trailing slash is redirected to the page.
 */
export const refuseUnknownPaths: RequestHandler = (req, res, next) => {
  if (toRouteName(req.url) !== 'none') {
    next();
    return;
  }
  const path = req.url.replace(/\/(?=\?|$)/, '');
  const isRead = req.method === 'GET' || req.method === 'HEAD';
  if (isRead && TYPED_PAGES.test(toRouteName(path))) res.redirect(308, req.baseUrl + path);
  else pageNotFound(req, res, next);
};
