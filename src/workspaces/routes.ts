import { Router } from 'express';
import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express';
import { goneSignal } from './gone.ts';
import { requestContext } from '../http/request-context.ts';
import { setFrame } from '../http/error-pages.ts';
import type { Render } from '../http/templates.ts';
import type { Session } from '../session/record.ts';
import { toFindAddress, toWayBack } from './urls.ts';
import { isPathId, toItemsList, toWorkspacePath, WORKSPACES } from './list-paths.ts';
import { createPagesAtOnce } from './pages-at-once.ts';
import { toPageAddress } from './pagination.ts';
import type { ServiceSource } from './api-client.ts';
import { toFoundItemsView, toWorkspaceView } from './page-views.ts';
import type { WorkspacePlace } from './page-views.ts';
import type { Workspaces } from './workspaces.ts';
import { toFoundWorkspacesView, toWorkspacesView } from './workspaces-view.ts';

export interface WorkspacesDeps extends Pick<
  Workspaces,
  'pageByNumber' | 'findItems' | 'readItem' | 'pagesAtOnce'
> {
  readonly render: Render;
  readonly signedIn: RequestHandler[];
  /** Names the session of a request, for the scripts of its page. */
  readonly sessionOf: (req: Request) => string;
  readonly currentSession: (req: Request) => Session;
  /** The kinds of item inside a workspace (`WORKSPACE_ITEMS`); at least one. */
  readonly kinds: readonly string[];
  /** Items on a page where the address does not say. */
  readonly pageSize: number;
}

const INSIDE = `${WORKSPACES.address}/:id{/:kind}` as const;

/**
 * The workspace browser, for who `signedIn` lets through: `currentSession` gives their session. Every failure is passed on, that
 * of a session which turns out to have ended (SessionEndedError) included.
 */
export function createWorkspacesRouter(deps: WorkspacesDeps): Router {
  const { pageByNumber, findItems, readItem, render, signedIn, sessionOf, currentSession, kinds, pageSize } =
    deps;
  const router = Router({ caseSensitive: true });

  /** Calls end when nobody waits for the page any more. */
  const toSource = (req: Request, res: Response, path: string): ServiceSource => {
    return { ticket: currentSession(req), path, notes: requestContext(res), signal: goneSignal(res) };
  };

  /** A page that fails, if only to find its session, still stands among the workspaces, and leads back to where somebody came from. */
  const framePage: RequestHandler = (req, res, next) => {
    const wayBack = 'id' in req.params && { wayBack: toWayBack(req.query, pageSize) };
    setFrame(res, { room: 'workspaces', ...wayBack });
    next();
  };

  router.all([WORKSPACES.address, INSIDE], framePage, signedIn);
  router.get([WORKSPACES.address, INSIDE], createPagesAtOnce(deps.pagesAtOnce, currentSession));
  router.get(WORKSPACES.address, async (req, res) => {
    const source = toSource(req, res, WORKSPACES.servicePath);
    const find = toFindAddress(req.query, pageSize);
    const { limit, page } = toPageAddress(req.query, pageSize);
    const view =
      find === null
        ? toWorkspacesView(await pageByNumber({ ...source, limit, page }), page, pageSize)
        : toFoundWorkspacesView(await findItems({ ...source, ...find }), find, pageSize);
    res.type('html').send(render('workspaces', { ...view, session: sessionOf(req) }));
  });

  router.get(INSIDE, async (req, res, next) => {
    const place = toPlace(req);
    if (place === null) {
      next();
      return;
    }
    const source = toSource(req, res, toItemsList(place.id, place.kind).servicePath);
    const workspace = readItem({ ...source, path: toWorkspacePath(place.id) });
    const find = toFindAddress(req.query, pageSize);
    const { limit, page } = toPageAddress(req.query, pageSize);
    const toView =
      find === null
        ? toWorkspaceView(place, await pageByNumber({ ...source, limit, page }), page)
        : toFoundItemsView(place, await findItems({ ...source, ...find }), find);
    res.type('html').send(render('workspace', { ...toView(await workspace()), session: sessionOf(req) }));
  });

  const toPlace = (req: Request<{ id: string; kind?: string }>): WorkspacePlace | null => {
    const { id, kind = kinds[0] } = req.params;
    if (kind === undefined || !kinds.includes(kind) || !isPathId(id)) return null;
    const wayBack = toWayBack(req.query, pageSize);
    const back = wayBack.href.split('?', 2)[1];
    return { id, kind, kinds, wayBack, defaultLimit: pageSize, ...(back !== undefined && { back }) };
  };

  router.use(dropUnawaited);
  return router;
}

/** The reader has gone, which is what ended the call: there is nobody to answer. */
const dropUnawaited: ErrorRequestHandler = (error: unknown, _req, res, next) => {
  if (!res.destroyed) next(error);
};
