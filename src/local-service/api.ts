import { Router } from 'express';
import type { Request } from 'express';
import { refuseMethod, refusePath } from './error-responses.ts';
import type { RequireGrant } from './bearer-token.ts';
import type { ReadPage } from './pagination.ts';
import { toQuery } from './request-query.ts';
import { muralsIn, roomsIn } from './seed/items.ts';
import type { SeedWorkspaces, SingleWorkspace } from './seed/workspaces.ts';
import { ServiceError } from './service-errors.ts';

/**
 * The scopes of which a token needs one. The plural names are those of the public service. A workspace is seen by
 * whoever may read what is inside it.
 */
const ROOM_SCOPES = ['room:read', 'rooms:read'];
const MURAL_SCOPES = [...ROOM_SCOPES, 'mural:read', 'murals:read'];
const WORKSPACE_SCOPES = ['workspace:read', 'workspaces:read', ...MURAL_SCOPES];

const WORKSPACES_A_PAGE = 25;
const ITEMS_A_PAGE = 50;

/** The lists of interface 4.4 and 4.5, below `/api/public/v1`; everything else there is 404 or 405. */
export function workspaceRoutes(
  seed: SeedWorkspaces,
  requireGrant: RequireGrant,
  readPage: ReadPage,
): Router {
  const router = Router({ strict: true, caseSensitive: true });

  /** The user's workspace that the path names. Throws 404 `WORKSPACE_NOT_FOUND` for others' too. */
  const requireWorkspace = (userId: string, req: Request<{ id: string }>): SingleWorkspace => {
    const workspace = seed.find(userId, req.params.id);
    if (workspace !== undefined) return workspace;
    throw new ServiceError(404, 'WORKSPACE_NOT_FOUND', 'There is no such workspace, or it is not yours');
  };

  router.get('/workspaces', async (req, res) => {
    const { userId } = await requireGrant(req, WORKSPACE_SCOPES);
    const list = { path: '/workspaces', userId, items: seed.listOf(userId), defaultLimit: WORKSPACES_A_PAGE };
    res.json(await readPage(list, toQuery(req)));
  });

  router.get('/workspaces/:id', async (req, res) => {
    const { userId } = await requireGrant(req, WORKSPACE_SCOPES);
    res.json({ value: requireWorkspace(userId, req) });
  });

  router.get('/workspaces/:id/rooms', async (req, res) => {
    const { userId } = await requireGrant(req, ROOM_SCOPES);
    const workspace = requireWorkspace(userId, req);
    const path = `/workspaces/${workspace.id}/rooms`;
    const list = { path, userId, items: roomsIn(workspace), defaultLimit: ITEMS_A_PAGE };
    res.json(await readPage(list, toQuery(req)));
  });

  router.get('/workspaces/:id/murals', async (req, res) => {
    const { userId } = await requireGrant(req, MURAL_SCOPES);
    const workspace = requireWorkspace(userId, req);
    const path = `/workspaces/${workspace.id}/murals`;
    const list = { path, userId, items: muralsIn(workspace), defaultLimit: ITEMS_A_PAGE };
    res.json(await readPage(list, toQuery(req)));
  });

  const paths = ['/workspaces', '/workspaces/:id', '/workspaces/:id/rooms', '/workspaces/:id/murals'];
  router.all(paths, refuseMethod('GET, HEAD'));
  router.use(refusePath());
  return router;
}
