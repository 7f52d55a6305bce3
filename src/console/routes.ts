import { Router } from 'express';
import type { Request, RequestHandler } from 'express';
import type { Render } from '../http/templates.ts';
import { loadGatewayProblems } from './gateway-problems.ts';
import { readGuide } from './guide.ts';

/** Where the console begins: the list that the service’s interface promises (section 4.4), a short page of it. */
const PATH = '/api/public/v1/workspaces';
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/**
 * The developer console and its guide, for who `signedIn` lets through. Both are the same for everyone: what is called
 * is called by the browser, through the gateway. `cookieName` is the session cookie's.
 */
export function createConsoleRouter(deps: {
  readonly signedIn: RequestHandler[];
  /** Names the session of a request, for the scripts of its page. */
  readonly sessionOf: (req: Request) => string;
  readonly render: Render;
  readonly publicOrigin: string;
  readonly cookieName: string;
}): Router {
  const { signedIn, sessionOf, render, publicOrigin, cookieName } = deps;
  const curl = `curl --cookie "${cookieName}=$COOKIE" '${publicOrigin}${PATH}?limit=10'`;
  const guide = readGuide();
  const problems = loadGatewayProblems(); // a rejection that nobody awaits yet ends the process at its start
  const router = Router({ caseSensitive: true });
  router.all(['/console', '/console/guide'], signedIn);
  router.get('/console', (req, res) => {
    const view = { title: 'Console', signedIn: true, room: 'console', path: PATH, methods: METHODS };
    res.type('html').send(render('console', { ...view, session: sessionOf(req), cookieName, curl }));
  });
  router.get('/console/guide', async (req, res) => {
    const view = { title: 'Calling the API from your page', signedIn: true, room: 'console' };
    const shown = { ...guide, problems: await problems };
    res.type('html').send(render('console-guide', { ...view, session: sessionOf(req), ...shown }));
  });
  return router;
}
