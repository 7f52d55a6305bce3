import { expect, test } from '@jest/globals';
import express, { type RequestHandler } from 'express';
import request from 'supertest';
import { createAccessLog } from '../../../src/http/access-log.ts';
import { createErrorPages, pageNotFound } from '../../../src/http/error-pages.ts';
import { AppError } from '../../../src/errors.ts';
import { createLog } from '../../../src/observability/logger.ts';
import { StoreUnavailableError } from '../../../src/redis/client.ts';
import { eventually } from '../../support/eventually.ts';
import { startHttpServer } from '../../support/http-server.ts';
import { exchangeBytes } from '../../support/raw-client.ts';
import { render } from '../../support/render.ts';

/** Creates an app whose pages use the handler `page`. Returns the app and its log lines. */
function createApp(page: RequestHandler, { renderPage = render, signedIn = false } = {}) {
  const lines: string[] = [];
  const log = createLog('info', { write: (line) => lines.push(line) });
  const accessLog = createAccessLog({ log });
  const app = express();
  app.use((req, res, next) => {
    accessLog.track(req, res, req.originalUrl);
    next();
  });
  app.get('/item/:id', (_req, res) => void res.send('item'));
  app.all(['/', '/page', '/workspaces'], page);
  app.use(pageNotFound);
  app.use(createErrorPages({ render: renderPage, log, isSignedIn: () => signedIn }));
  return { app, lines };
}

interface Sent {
  readonly path?: string;
  readonly method?: 'get' | 'post';
  readonly accept?: string;
}

/** Requests a page that fails with this error. Resolves with the response and the log entries. */
async function fail(
  error: unknown,
  {
    path = '/page',
    method = 'get',
    accept = 'text/html',
    ...options
  }: Sent & Parameters<typeof createApp>[1] = {},
) {
  const { app, lines } = createApp((_req, _res, next) => next(error), options);
  const response = await request(app)[method](path).set('accept', accept);
  await eventually(async () => lines.at(-1)?.includes('"msg":"request"') === true);
  const entries = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  return { response, entries, type: response.headers['content-type'] };
}

/** Returns the links on an error page, in order. */
function linksOf(html: string): string[] {
  const actions = /<p class="actions">(.*?)<\/p>/s.exec(html)?.[1] ?? '';
  return [...actions.matchAll(/href="([^"]*)">([^<]*)</g)].map(([, href, label]) => `${label}: ${href}`);
}

const secret = new Error('secret cause');
const outage = new StoreUnavailableError(secret);
const noSuchItem = new AppError('page_not_found');

test('the error page for a Redis outage has the expected text, headers and request id, but does not say whether the user is signed in', async () => {
  const { response, type } = await fail(outage);
  expect(response.status).toBe(503);
  expect(response.headers['retry-after']).toBe('2');
  expect(type).toBe('text/html; charset=utf-8');
  expect(response.text).toContain('<h1>Cloakroom is briefly unavailable</h1>');
  expect(response.text).toContain(`<code>${response.headers['x-request-id']}</code>`);
  expect(response.text).toContain('If you were signed in, you still are.');
  expect(response.text).not.toMatch(/secret cause|you are (still |not )?signed/i);
});

test.each([
  ['an unknown error', secret],
  ['a thrown value that is not an Error', { status: 418, message: 'secret cause' }],
])('%s results in a 500 page without the cause, and is logged as an error', async (_what, error) => {
  const { response, entries } = await fail(error);
  expect(response.status).toBe(500);
  expect(entries[0]).toMatchObject({ level: 'error', code: 'internal_error', msg: 'request failed' });
  expect(response.text).toContain('Something went wrong on our side');
  expect(response.text).not.toMatch(/secret cause|\bat .*\.[jt]s/);
});

const [AGAIN, START, WORKSPACES] = [
  (path: string) => `Try again: ${path}`,
  'Go to the home page: /',
  'Go to your workspaces: /workspaces',
];

test.each([
  ['signed out', '/page', secret, [AGAIN('/page'), START]],
  ['signed out', '/page?a=1&b="2"', secret, [AGAIN('/page?a=1&amp;b=%222%22'), START]],
  ['signed out', '/page', noSuchItem, [START]],
  ['signed out', '/?a=1', secret, [AGAIN('/?a=1')]],
  ['signed in', '/page', secret, [AGAIN('/page'), WORKSPACES]],
  ['signed in', '/page', noSuchItem, [WORKSPACES]],
  ['signed in', '/', secret, [AGAIN('/'), WORKSPACES]],
  ['signed in', '/workspaces?page=2', secret, [AGAIN('/workspaces?page=2')]],
  ['signed in', '/workspaces', noSuchItem, [AGAIN('/workspaces')]],
])('a %s user gets the right links on the error page for %s', async (user, path, error, links) => {
  const { response } = await fail(error, { path, signedIn: user === 'signed in' });
  expect(linksOf(response.text)).toEqual(links);
});

test('an error page that offers a retry shows how long to wait', async () => {
  const { response } = await fail(outage);
  expect(response.text).toContain('<p data-retry-after="2">You can try again in');
  expect(response.text).toContain('<time datetime="PT2S">2 seconds</time>');
});

test('the error page for a failed form submission neither offers to resend the form nor shows how long to wait', async () => {
  const { response } = await fail(outage, { method: 'post' });
  expect([response.status, response.headers['retry-after']]).toEqual([503, '2']);
  expect(linksOf(response.text)).toEqual([START]);
  expect(response.text).not.toContain('data-retry-after');
});

test('an error page shows its status unless the user denied consent, which is not an error', async () => {
  expect((await fail(noSuchItem)).response.text).toContain('Error 404');
  const { response } = await fail(new AppError('access_denied'));
  expect(response.status).toBe(403);
  expect(response.text).not.toContain('Error');
});

test.each(['//evil.example/x', '/\\evil.example/x', 'http://evil.example/x'])(
  'links on the error page for %s never lead to another site',
  async (target) => {
    const { app } = createApp((_req, _res, next) => next(secret));
    const outer = express().use((req, res, next) => {
      req.url = '/page';
      app(req, res, next);
    });
    await using server = await startHttpServer(outer);
    const head = `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
    const response = (await exchangeBytes(server.port, Buffer.from(head))).toString();
    expect(response).toMatch(/^HTTP\/1\.1 500 /);
    expect(linksOf(response)).toEqual([START]);
    expect(response).not.toContain('evil.example');
  },
);

test.each([
  ['the page that failed', new AppError('permission_missing'), 'Sign in again', '/page?a=1&b=%2F'],
  ['the page given with the error', new AppError('code_missing', { returnTo: '/' }), 'Try again', '/'],
])(
  'if a sign-in can fix an error, the error page has a sign-in link that returns to %s',
  async (_where, error, label, returnTo) => {
    const { response } = await fail(error, { path: '/page?a=1&b=%2F' });
    expect(linksOf(response.text)[0]).toBe(`${label}: /auth/login?return_to=${encodeURIComponent(returnTo)}`);
  },
);

test('a client that prefers JSON gets problem+json', async () => {
  const { response, type } = await fail(outage, { accept: 'application/json' });
  expect(type).toBe('application/problem+json');
  expect(JSON.parse(response.text)).toMatchObject({
    code: 'session_store_unavailable',
    status: 503,
    requestId: response.headers['x-request-id'],
  });
});

test.each(['text/html,application/xhtml+xml,*/*;q=0.8', '*/*', 'image/png', ''])(
  'a client that accepts %j gets an HTML page',
  async (accept) => {
    expect((await fail(secret, { accept })).type).toBe('text/html; charset=utf-8');
  },
);

test('a path with a malformed percent-encoding gets a 400 page', async () => {
  const { response, entries } = await fail(secret, { path: '/item/%ff' });
  expect(response.status).toBe(400);
  expect(response.text).toContain('This address is malformed');
  expect(response.text).not.toContain('decode');
  expect(entries).toMatchObject([{ level: 'info', status: 400, code: 'bad_request_target' }]);
});

test('a server-side failure is logged with its cause and request id, but without the query or a stack', async () => {
  const { response, entries } = await fail(outage, { path: '/page?token=hidden' });
  const problem = { requestId: response.headers['x-request-id'], code: 'session_store_unavailable' };
  expect(entries).toMatchObject([
    { level: 'warn', ...problem, err: { cause: { message: 'secret cause' } } }, // outages are expected
    { level: 'info', ...problem, cause: 'secret cause' },
  ]);
  expect(JSON.stringify(entries)).not.toMatch(/hidden|stack/);
});

test('a page that fails after its response has begun is cut off', async () => {
  const { app, lines } = createApp((_req, res, next) => {
    res.write('half a page', () => next(secret));
  });
  await expect(request(app).get('/page')).rejects.toThrow(/aborted|hang up/);
  await eventually(async () => lines.length === 2);
});

test('if the error page itself fails, the client gets the original error as JSON', async () => {
  const renderPage = () => {
    throw new Error('broken template');
  };
  const { response, entries, type } = await fail(outage, { renderPage });
  expect([response.status, type]).toEqual([503, 'application/problem+json']);
  expect(response.text).not.toContain('broken template');
  expect(entries).toHaveLength(3);
});
