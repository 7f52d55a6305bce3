import { Router } from 'express';
import type { ErrorRequestHandler, Request } from 'express';
import { requestId } from '../platform/request-id.ts';
import type { Render } from '../platform/templates.ts';
import type { Ticket } from '../session/record.ts';
import type { ListPage } from './listing.ts';
import { toPageAddress } from './pagination.ts';
import { toWorkspacesView, WORKSPACES_ADDRESS } from './view-model.ts';

/** Where the service lists them (service interface, section 4.4). */
const WORKSPACES_PATH = '/api/public/v1/workspaces';

/**
 * The workspace browser, for requests that have a session: `ticketOf` gives it. Every failure is passed on, that of a
 * session which turns out to have ended (SessionEndedError) included.
 */
export function createWorkspacesRouter(deps: {
  readonly listPage: ListPage;
  readonly render: Render;
  readonly ticketOf: (req: Request) => Ticket;
  /** Items on a page where the address does not say. */
  readonly pageSize: number;
}): Router {
  const { listPage, render, ticketOf, pageSize } = deps;
  const router = Router();

  router.get(WORKSPACES_ADDRESS, async (req, res) => {
    const { limit, page } = toPageAddress(req.query, pageSize);
    const gone = new AbortController();
    res.once('close', () => gone.abort());
    const listed = await listPage({
      ticket: ticketOf(req),
      path: WORKSPACES_PATH,
      limit,
      page,
      requestId: requestId(res),
      signal: gone.signal,
    });
    res.type('html').send(render('workspaces', toWorkspacesView(listed, page, pageSize)));
  });

  router.use(dropUnawaited);
  return router;
}

/** The reader has gone, which is what ended the call: there is nobody to answer. */
const dropUnawaited: ErrorRequestHandler = (error: unknown, _req, res, next) => {
  if (!res.destroyed) next(error);
};
