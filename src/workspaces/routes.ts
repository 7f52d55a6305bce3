import { Router } from 'express';
import type { ErrorRequestHandler, Request, Response } from 'express';
import { requestId } from '../platform/request-id.ts';
import type { Render } from '../platform/templates.ts';
import type { Ticket } from '../session/record.ts';
import { toFindWords, toWayBack } from './addresses.ts';
import type { FindItems } from './finding.ts';
import { isPathId, toItemsList, toWorkspacePath, WORKSPACES } from './lists.ts';
import type { ListPage } from './listing.ts';
import { toPageAddress } from './pagination.ts';
import type { ListSource } from './service-pages.ts';
import type { ReadItem } from './single-item.ts';
import { toFoundItemsView, toWorkspaceView } from './workspace-view.ts';
import type { WorkspacePlace } from './workspace-view.ts';
import { toFoundWorkspacesView, toWorkspacesView } from './workspaces-view.ts';

export interface WorkspacesDeps {
  readonly listPage: ListPage;
  readonly findItems: FindItems;
  readonly readItem: ReadItem;
  readonly render: Render;
  readonly ticketOf: (req: Request) => Ticket;
  /** The kinds of item inside a workspace (`WORKSPACE_ITEMS`); at least one. */
  readonly kinds: readonly string[];
  /** Items on a page where the address does not say. */
  readonly pageSize: number;
}

/**
 * The workspace browser, for requests that have a session: `ticketOf` gives it. Every failure is passed on, that of a
 * session which turns out to have ended (SessionEndedError) included.
 */
export function createWorkspacesRouter(deps: WorkspacesDeps): Router {
  const { listPage, findItems, readItem, render, ticketOf, kinds, pageSize } = deps;
  const router = Router();

  /** Calls end when nobody waits for the page any more. */
  const toSource = (req: Request, res: Response, path: string): Omit<ListSource, 'limit'> => {
    const gone = new AbortController();
    res.once('close', () => gone.abort());
    return { ticket: ticketOf(req), path, requestId: requestId(res), signal: gone.signal };
  };

  router.get(WORKSPACES.address, async (req, res) => {
    const source = toSource(req, res, WORKSPACES.servicePath);
    const words = toFindWords(req.query);
    if (words !== '') {
      const { page: from } = toPageAddress({ page: req.query['from'] }, pageSize);
      const found = await findItems({ ...source, words, from });
      res.type('html').send(render('workspaces', toFoundWorkspacesView(found, words, from, pageSize)));
      return;
    }
    const { limit, page } = toPageAddress(req.query, pageSize);
    const listed = await listPage({ ...source, limit, page });
    res.type('html').send(render('workspaces', toWorkspacesView(listed, page, pageSize)));
  });

  router.get(`${WORKSPACES.address}/:id{/:kind}`, async (req, res, next) => {
    const place = toPlace(req);
    if (place === null) {
      next();
      return;
    }
    const source = toSource(req, res, toItemsList(place.id, place.kind).servicePath);
    const item = readItem({ ...source, path: toWorkspacePath(place.id) });
    const words = toFindWords(req.query);
    if (words !== '') {
      const { page: from } = toPageAddress({ page: req.query['from'] }, pageSize);
      const found = await findItems({ ...source, words, from });
      res.type('html').send(render('workspace', toFoundItemsView(place, await item(), found, words)));
      return;
    }
    const { limit, page } = toPageAddress(req.query, pageSize);
    const listed = await listPage({ ...source, limit, page });
    res.type('html').send(render('workspace', toWorkspaceView(place, await item(), listed, page)));
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
