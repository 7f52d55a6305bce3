import { Router, type Request } from 'express';
import { ServiceError, refuseMethod, refusePath } from './error-responses.ts';
import type { Grant, OAuthStore } from './oauth-store.ts';
import type { Items, PageReader } from './pagination.ts';
import { queryParameters } from './request-parameters.ts';
import { muralsIn, roomsIn } from './seed/items.ts';
import type { SeedWorkspaces, Workspace } from './seed/workspaces.ts';

/** Prefix of every API path, including the version (interface, section 9). */
export const API_PATH = '/api/public/v1';

/**
 * Scopes that permit each kind of request; any one of them is enough. The public service uses the plural names. A scope for the
 * contents of a workspace also permits reading the workspace itself.
 */
const ROOM_SCOPES = ['room:read', 'rooms:read'];
const MURAL_SCOPES = [...ROOM_SCOPES, 'mural:read', 'murals:read'];
const WORKSPACE_SCOPES = ['workspace:read', 'workspaces:read', ...MURAL_SCOPES];

const DEFAULT_WORKSPACES = 25;
const DEFAULT_ITEMS = 50;

type ItemsIn = (workspace: Workspace) => Items<unknown>;

/** Serves the API (interface 4.4 and 4.5) under `/api/public/v1`. Other requests under this path get a 404 or 405. */
export function apiRoutes(
  seed: SeedWorkspaces,
  accessTokens: OAuthStore['accessTokens'],
  readPage: PageReader,
): Router {
  const router = Router({ strict: true, caseSensitive: true });

  /** Finds the workspace named in the path. Throws 404 `WORKSPACE_NOT_FOUND` if this user has no such workspace. */
  const requireWorkspace = (userId: string, req: Request<{ id: string }>) => {
    const workspace = seed.find(userId, req.params.id);
    if (workspace !== undefined) return workspace;
    throw new ServiceError(404, 'WORKSPACE_NOT_FOUND', 'There is no such workspace, or it is not yours');
  };

  router.get('/workspaces', async (req, res) => {
    const { userId } = await requireGrant(accessTokens, req, WORKSPACE_SCOPES);
    const list = {
      path: '/workspaces',
      userId,
      items: seed.listOf(userId),
      defaultLimit: DEFAULT_WORKSPACES,
    };
    res.json(await readPage(list, queryParameters(req)));
  });

  router.get('/workspaces/:id', async (req, res) => {
    const { userId } = await requireGrant(accessTokens, req, WORKSPACE_SCOPES);
    res.json({ value: requireWorkspace(userId, req) });
  });

  const serveItems = (kind: 'rooms' | 'murals', scopes: readonly string[], itemsIn: ItemsIn) =>
    router.get(`/workspaces/:id/${kind}`, async (req, res) => {
      const { userId } = await requireGrant(accessTokens, req, scopes);
      const workspace = requireWorkspace(userId, req);
      const path = `/workspaces/${workspace.id}/${kind}`;
      const list = { path, userId, items: itemsIn(workspace), defaultLimit: DEFAULT_ITEMS };
      res.json(await readPage(list, queryParameters(req)));
    });
  serveItems('rooms', ROOM_SCOPES, roomsIn);
  serveItems('murals', MURAL_SCOPES, muralsIn);

  const paths = ['/workspaces', '/workspaces/:id', '/workspaces/:id/rooms', '/workspaces/:id/murals'];
  router.all(paths, refuseMethod('GET, HEAD'));
  router.use(refusePath());
  return router;
}

/** Returns the token in the `Authorization: Bearer` header, valid or not. */
export function bearerTokenOf(req: Request): string | undefined {
  return BEARER.exec(req.get('authorization') ?? '')?.groups?.['token'];
}

const BEARER = /^Bearer +(?<token>[A-Za-z0-9\-._~+/]+=*)$/i; // RFC 6750 §2.1

/**
 * Resolves with the grant for the request's access token if the grant has one of `scopes`. Otherwise, rejects with 401
 * `UNAUTHORIZED` (no token), `TOKEN_INVALID` (unknown), `TOKEN_REVOKED` or `TOKEN_EXPIRED`, or with 403 `INVALID_SCOPE`, each with a
 * `WWW-Authenticate` header (RFC 6750 §3).
 */
async function requireGrant(
  accessTokens: OAuthStore['accessTokens'],
  req: Request,
  scopes: readonly string[],
): Promise<Grant> {
  if (req.get('authorization') === undefined)
    throw refusal(401, 'UNAUTHORIZED', 'Send an access token: Authorization: Bearer <ACCESS_TOKEN>');
  const token = bearerTokenOf(req);
  if (token === undefined)
    throw refusal(401, 'UNAUTHORIZED', 'The Authorization header is not of the form Bearer <ACCESS_TOKEN>');
  const check = await accessTokens.check(token);
  switch (check.state) {
    case 'unknown':
      throw refusal(401, 'TOKEN_INVALID', 'The access token is unknown', 'invalid_token');
    case 'revoked':
      throw refusal(401, 'TOKEN_REVOKED', 'The access token was revoked', 'invalid_token');
    case 'expired':
      throw refusal(401, 'TOKEN_EXPIRED', 'The access token has expired', 'invalid_token');
    case 'valid': {
      if (scopes.some((scope) => check.grant.scopes.includes(scope))) return check.grant;
      const message = `This request needs one of these scopes: ${scopes.join(', ')}`;
      throw refusal(403, 'INVALID_SCOPE', message, 'insufficient_scope');
    }
  }
}

function refusal(status: number, code: string, message: string, error?: string): ServiceError {
  const challenge = error === undefined ? 'Bearer' : `Bearer error="${error}"`;
  return new ServiceError(status, code, message, { headers: { 'www-authenticate': challenge } });
}
