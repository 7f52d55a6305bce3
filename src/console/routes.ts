import { readFileSync } from 'node:fs';
import { Router, type Request, type RequestHandler } from 'express';
import { GATEWAY_PROBLEMS } from '../errors.ts';
import { sendPage } from '../http/compression.ts';
import { PUBLIC_FOLDER, type Assets } from '../http/static-assets.ts';
import type { Render } from '../http/templates.ts';
import { ADVICE } from './problem-advice.ts';

/** Default path in the console: a list that every service provides (docs/local-service.md, 4.4). */
const EXAMPLE_PATH = '/api/public/v1/workspaces';
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/**
 * Creates the router for the developer console, its guide and `/openapi.json`. The pages contain no API data, because the
 * browser itself sends API requests through the gateway.
 */
export function createConsoleRouter(deps: {
  /** Admits only signed-in clients. */
  readonly signedIn: RequestHandler[];
  /** Returns the time at which the session ends (ISO 8601), which pages use to detect that their session has been replaced. */
  readonly sessionEnd: (req: Request) => string;
  readonly render: Render;
  readonly assets: Assets;
  readonly publicOrigin: string;
  /** Name of the session cookie. */
  readonly cookieName: string;
}): Router {
  const { signedIn, sessionEnd, render, assets, publicOrigin, cookieName } = deps;
  const curl = `curl --cookie "${cookieName}=$COOKIE" '${publicOrigin}${EXAMPLE_PATH}?limit=10'`;
  const code = readGuideCode();
  const problems = Object.entries(GATEWAY_PROBLEMS).map(([problem, { status }]) => ({
    code: problem,
    status,
    advice: ADVICE[problem],
  }));
  const router = Router({ caseSensitive: true });

  router.get('/openapi.json', (req, res) => {
    res.set('cache-control', 'public, max-age=300');
    assets.send(req, res, 'openapi.json');
  });
  router.all(['/console', '/console/guide'], signedIn);
  router.get('/console', async (req, res) => {
    const view = {
      title: 'Console',
      signedIn: true,
      section: 'console',
      path: EXAMPLE_PATH,
      methods: METHODS,
    };
    await sendPage(req, res, render('console', { ...view, session: sessionEnd(req), cookieName, curl }));
  });
  router.get('/console/guide', async (req, res) => {
    const view = { title: 'Using the API from your page', signedIn: true, section: 'console' };
    await sendPage(
      req,
      res,
      render('console-guide', { ...view, session: sessionEnd(req), ...code, problems }),
    );
  });
  return router;
}

/** Reads the code examples for the guide from the same files that the tests run. */
function readGuideCode() {
  const read = (name: string) => readFileSync(new URL(`guide/${name}`, PUBLIC_FOLDER), 'utf8').trimEnd();
  return {
    fetchApi: read('fetch-api.js'),
    pages: read('pages.js'),
    showWorkspaces: read('show-workspaces.js'),
    viteConfig: read('vite.config.js'),
  };
}
