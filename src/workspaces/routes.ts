import { Router, type ErrorRequestHandler, type Request, type RequestHandler, type Response } from 'express';
import { requestContext } from '../http/request-context.ts';
import { sendPage } from '../http/compression.ts';
import { setErrorPageFrame } from '../http/error-pages.ts';
import type { Render } from '../http/templates.ts';
import type { Session } from '../session/record.ts';
import { abortSignalOf, type PageRequest } from './api-client.ts';
import { limitPages } from './concurrency.ts';
import {
  toItemSearchView,
  toItemsView,
  toWorkspaceSearchView,
  toWorkspacesView,
  type WorkspacePlace,
} from './page-views.ts';
import {
  isPathId,
  itemListPaths,
  parseBackLink,
  parsePage,
  parseSearch,
  WORKSPACES,
  workspaceServicePath,
} from './urls.ts';
import type { Workspaces } from './workspaces-services.ts';

type WorkspacesDeps = Pick<Workspaces, 'api' | 'paging' | 'searchItems' | 'pageLimits'> & {
  readonly render: Render;
  /** Admits only signed-in clients. */
  readonly signedIn: RequestHandler[];
  /** Returns the time at which the session ends (ISO 8601). Pages use this time to detect that their session was replaced. */
  readonly sessionEnd: (req: Request) => string;
  readonly currentSession: (req: Request) => Session;
  /** The kinds of item in a workspace (`WORKSPACE_ITEMS`); at least one. */
  readonly kinds: readonly string[];
  /** Default number of items on a page. */
  readonly pageSize: number;
};

const ITEMS_PATH = `${WORKSPACES.path}/:id{/:kind}` as const;

/** Creates the router for the workspace browser. Failures, including SessionEndedError, are passed to the error handlers. */
export function createWorkspacesRouter(deps: WorkspacesDeps): Router {
  const { api, paging, searchItems, render, signedIn, sessionEnd, currentSession } = deps;
  const { kinds, pageSize } = deps;
  const router = Router({ caseSensitive: true });

  /** Adds the navigation and the back link to error pages, even if reading the session fails. */
  const frameErrorPages: RequestHandler = (req, res, next) => {
    const own =
      'id' in req.params
        ? {
            backLink: parseBackLink(req.query, pageSize),
            titles: { list_not_found: 'This workspace can’t be opened' },
          }
        : { titles: { service_failed: 'Your workspaces can’t be loaded' } };
    setErrorPageFrame(res, { section: 'workspaces', ...own });
    next();
  };

  router.all([WORKSPACES.path, ITEMS_PATH], frameErrorPages, signedIn);
  router.get([WORKSPACES.path, ITEMS_PATH], limitPages(deps.pageLimits, currentSession));

  router.get(WORKSPACES.path, async (req, res) => {
    const request = toPageRequest(req, res, WORKSPACES.servicePath);
    const search = parseSearch(req.query, pageSize);
    const { limit, page } = parsePage(req.query, pageSize);
    const view =
      search === null
        ? toWorkspacesView(await paging.readPage({ ...request, limit }, page), page, pageSize)
        : toWorkspaceSearchView(await searchItems(request, search.words, search.from), search, pageSize);
    await sendPage(req, res, render('workspaces', { ...view, session: sessionEnd(req) }));
  });

  router.get(ITEMS_PATH, async (req, res, next) => {
    const place = toPlace(req);
    if (place === null) {
      next();
      return;
    }
    const request = toPageRequest(req, res, itemListPaths(place.id, place.kind).servicePath);
    const workspace = api.startReadingItem({ ...request, path: workspaceServicePath(place.id) });
    const search = parseSearch(req.query, pageSize);
    const { limit, page } = parsePage(req.query, pageSize);
    const toView =
      search === null
        ? toItemsView(place, await paging.readPage({ ...request, limit }, page), page)
        : toItemSearchView(place, await searchItems(request, search.words, search.from), search);
    const view = toView(await workspace());
    await sendPage(req, res, render('workspace', { ...view, session: sessionEnd(req) }));
  });

  const toPageRequest = (req: Request, res: Response, path: string): PageRequest => {
    return { session: currentSession(req), path, context: requestContext(res), signal: abortSignalOf(res) };
  };

  const toPlace = (req: Request<{ id: string; kind?: string }>): WorkspacePlace | null => {
    const { id, kind = kinds[0] } = req.params;
    if (kind === undefined || !kinds.includes(kind) || !isPathId(id)) return null;
    const backLink = parseBackLink(req.query, pageSize);
    const back = backLink.href.split('?', 2)[1];
    return { id, kind, kinds, backLink, defaultLimit: pageSize, ...(back !== undefined && { back }) };
  };

  router.use(ignoreAfterDisconnect);
  return router;
}

/** Ignores errors after the client has disconnected, because they can't be sent. */
const ignoreAfterDisconnect: ErrorRequestHandler = (error: unknown, _req, res, next) => {
  if (!res.destroyed) next(error);
};
