import { afterEach, describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { endPreviousSession } from '../../../src/oauth/callback.ts';
import { createLog } from '../../../src/observability/logger.ts';
import { createSessionEvents } from '../../../src/session/events.ts';
import { hashId } from '../../../src/session/store.ts';
import { Browser } from '../../support/browser.ts';
import { TOKEN_PATH } from '../../support/constants.ts';
import { eventually } from '../../support/eventually.ts';
import { useTestApp } from '../../support/fixtures.ts';
import { sendRaw } from '../../support/raw-client.ts';
import { submitSignIn, startSignIn, tokenRequests } from '../../support/test-app.ts';

const testApp = useTestApp();
afterEach(() => {
  testApp.intercept = () => false;
  testApp.serviceRequests.length = 0;
});

/** Signs in at the service. Resolves with the callback URL, without opening it. */
async function signInAtService(browser: Browser): Promise<string> {
  const { address } = await startSignIn(testApp, { browser });
  const page = await browser.open(address);
  const consent = page.text.includes('type="password"') ? await submitSignIn(browser, page) : page;
  return (await browser.press(consent, 'Allow')).headers.get('location') ?? '';
}

/** Opens the callback and checks that its page contains the request id. Resolves with the page. */
async function openCallback(browser: Browser, parameters: Record<string, string>) {
  const query = new URLSearchParams(parameters).toString();
  const page = await browser.fetch(`${testApp.origin}/auth/callback?${query}`);
  expect(page.headers.get('content-type')).toMatch(/^text\/html/);
  expect(page.text).toContain(page.headers.get('x-request-id'));
  return page;
}

/** Resolves with the session id in the browser's cookie. */
async function sessionIdOf(browser: Browser): Promise<string> {
  const cookie = decodeURIComponent((await browser.cookie(testApp.origin, 'cloakroom')) ?? '');
  return /^s:([\w-]{43})\./.exec(cookie)?.[1] ?? 'no session id';
}

describe('a completed sign-in', () => {
  test('redirects to its return_to', async () => {
    const { page } = await testApp.signIn('/workspaces?page=2');
    expect(page.status).toBe(200);
    expect(page.url.href).toBe(`${testApp.origin}/workspaces?page=2`);
  });

  test('responds with a 303 and a cookie that scripts cannot read', async () => {
    const browser = new Browser();
    const done = await browser.fetch(await signInAtService(browser));
    expect(done.status).toBe(303);
    expect(done.headers.get('clear-site-data')).toBe('"cache"');
    const cookie = done.headers.getSetCookie().find((line) => line.startsWith('cloakroom='));
    expect(cookie).toMatch(/^cloakroom=s%3A[\w-]{43}\.[^;]+; Path=\/; HttpOnly; SameSite=Lax$/);
  });

  test('redirects to the page requested in its own tab if two tabs sign in simultaneously', async () => {
    const browser = new Browser();
    const [first, second] = await Promise.all([
      startSignIn(testApp, { browser, returnTo: '/workspaces?page=1' }),
      startSignIn(testApp, { browser, returnTo: '/workspaces?page=2' }),
    ]);
    const firstConsent = await submitSignIn(browser, await browser.open(first.address));
    const secondConsent = await browser.open(second.address);
    for (const [consent, path] of [
      [secondConsent, '/workspaces?page=2'],
      [firstConsent, '/workspaces?page=1'],
    ] as const) {
      const back = (await browser.press(consent, 'Allow')).headers.get('location') ?? '';
      expect((await browser.fetch(back)).headers.get('location')).toBe(path);
    }
  });

  test('ends the previous session, even though the callback arrives without the strict session cookie', async () => {
    const { browser } = await testApp.signIn();
    const previousId = await sessionIdOf(browser);
    const address = await signInAtService(browser);
    const cookies = (await browser.jar.getCookieString(testApp.origin)).split('; ');
    const cookie = cookies.filter((pair) => !pair.startsWith('cloakroom=')).join('; ');
    expect((await new Browser().fetch(address, { headers: { cookie } })).status).toBe(303);
    expect(await testApp.services.store.read(previousId)).toBeNull();
  });
});

describe('a callback', () => {
  test('from a user who denied access gets a 403 page that offers a retry', async () => {
    const { browser, state } = await startSignIn(testApp, { returnTo: '/workspaces?page=3' });
    const page = await openCallback(browser, { state, error: 'access_denied' });
    expect(page.status).toBe(403);
    expect(page.text).toContain('You didn’t allow access');
    expect(page.text).toContain(`href="/auth/login?return_to=${encodeURIComponent('/workspaces?page=3')}"`);
    expect(page.text).toContain('Try again');
  });

  test.each([
    ['temporarily_unavailable', '(“temporarily_unavailable”)'],
    ['<script>alert(1)</script>', '(“unknown error”)'],
  ])('with the error %s gets a 502 page that shows %s', async (error, shown) => {
    const { browser, state } = await startSignIn(testApp);
    const page = await openCallback(browser, { state, error, error_description: 'call 0900' });
    expect(page.status).toBe(502);
    expect(page.text).toContain(`The service reported an error ${shown}.`);
    expect(page.text).not.toMatch(/alert\(1\)|0900/);
  });

  test('is logged only with error codes that OAuth defines', async () => {
    for (const error of ['QUERYVALUESEKRET-eyJhbGciOi.abc', 'unsupported_response_type']) {
      const { browser, state } = await startSignIn(testApp);
      expect((await openCallback(browser, { state, error })).status).toBe(502);
    }
    const log = testApp.logged.join('');
    expect(log).not.toContain('QUERYVALUE');
    expect(log).toContain('authorization response with an unknown error');
    expect(log).toContain('authorization response with unsupported_response_type');
  });

  test('without a code gets a 400 page', async () => {
    const { browser, state } = await startSignIn(testApp);
    expect((await openCallback(browser, { state })).status).toBe(400);
  });

  test.each<Record<string, string>>([{}, { code: 'x' }, { state: 'unknown', code: 'x' }])(
    'with %j and no sign-in transaction gets a 400 page that offers a retry',
    async (parameters) => {
      const page = await openCallback(new Browser(), parameters);
      expect(page.status).toBe(400);
      expect(page.text).toContain('Try again');
    },
  );

  test('that arrives twice redirects a signed-in user to the workspaces and shows other users a 400 page', async () => {
    const browser = new Browser();
    const address = await signInAtService(browser);
    await browser.fetch(address);
    const again = await browser.fetch(address);
    expect([again.status, again.headers.get('location')]).toEqual([303, '/workspaces']);
    const { browser: other, state } = await startSignIn(testApp);
    await openCallback(other, { state, error: 'access_denied' });
    expect((await openCallback(other, { state, code: 'x' })).status).toBe(400);
    expect(tokenRequests(testApp)).toHaveLength(1);
  });

  test('for a sign-in started by another Cloakroom version gets a 400 page', async () => {
    const { browser, state } = await startSignIn(testApp);
    const [key = ''] = await testApp.redis.keys(`cloakroom:signin:${hashId(state)}`);
    await testApp.redis.set(key, testApp.services.encryption.encrypt('{}', state, key), 'KEEPTTL');
    expect((await openCallback(browser, { state, code: 'x' })).status).toBe(400);
  });

  test.each([
    ['refuses the code', '{"error":"invalid_grant"}'],
    ['responds without a token', '{}'],
    ['closes the connection', null],
  ])('gets a 502 page that offers a retry if the token endpoint %s', async (_what, body) => {
    const { browser, state } = await startSignIn(testApp);
    testApp.intercept = (req, res) => {
      if (req.url !== TOKEN_PATH) return false;
      return Boolean(body === null ? req.socket.destroy() : res.end(body));
    };
    const page = await openCallback(browser, { state, code: 'x' });
    expect(page.status).toBe(502);
    expect(page.text).toContain('Try again');
    expect(page.text).not.toMatch(/ at .*\.ts|node_modules/);
  });

  test.each([
    '%3Fcode=SEKRET-1&state=SEKRET-2',
    '%253fcode%253DSEKRET-1',
    '%3fcode%3dSEKRET-1%26state%3dSEKRET-2',
    ';code=SEKRET-1',
    '%3bcode=SEKRET-1',
    '&code=SEKRET-1',
    '%26code=SEKRET-1',
    '%252526code=SEKRET-1',
    '%23code=SEKRET-1',
    'code=SEKRET-1',
    '/code=SEKRET-1',
    '%2Fcode%3DSEKRET-1',
  ])('at a mangled URL is logged without parameter values: /auth/callback%s', async (mangled) => {
    testApp.logged.length = 0;
    const response = await fetch(`${testApp.origin}/auth/callback${mangled}`);
    expect(response.status).toBe(404);
    const requestId = response.headers.get('x-request-id') ?? 'none';
    const lines = () => testApp.logged.filter((line) => line.includes(requestId));
    await eventually(async () => lines().some((line) => line.includes('"msg":"request"')));
    const log = lines().join('');
    expect(log).toContain('"path":"/auth/callback');
    expect(log).not.toContain('SEKRET');
  });
});

test('the log contains no secrets from sign-ins, sessions or request targets', async () => {
  const { browser } = await testApp.signIn();
  await browser.open(`${testApp.origin}/workspaces?limit=3&secret=query-value`);
  const id = await sessionIdOf(browser);
  const session = await testApp.services.store.read(id);
  const { state } = await startSignIn(testApp);
  await browser.fetch(`${testApp.origin}/auth/callback#state=fragment-secret`);
  for (const target of ['http://me:target-secret@host/api/x', '/workspaces#token=raw-secret'])
    await sendRaw(testApp, `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  testApp.intercept = (req, res) =>
    req.url === TOKEN_PATH && Boolean(res.end('{"error":"quotes demo-secret"}'));
  const expired = await testApp.createSession({ expiresAt: 0 });
  await request(testApp.origin).get('/api/public/v1/x').set('cookie', expired.cookie).expect(503);
  const log = testApp.logged.join('');
  expect(log).toContain('"path":"/auth/callback"');
  for (const secret of [
    ...[id, session?.record.grant.accessToken, session?.record.grant.refreshToken, state],
    ...['query-value', 'code=', 'state=', 'demo-secret', 'fragment-secret', 'target-secret', 'raw-secret'],
  ]) {
    expect(log).not.toContain(secret);
  }
});

test('ending a previous session is retried, and the cause is logged if every attempt fails', async () => {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>);
  const log = createLog('info', { write });
  const end = async () => {
    throw new Error('Redis is down');
  };
  await endPreviousSession(
    { store: { end }, log, sessionEvents: createSessionEvents(log, null) },
    'an-id',
    { requestId: 'a-request', trace: null, session: undefined, token: undefined },
    { retryMs: 1, giveUpMs: 20 },
  );
  await eventually(async () => lines.length > 1);
  const err = expect.objectContaining({ message: 'Redis is down' });
  expect(lines).toEqual([
    expect.objectContaining({ level: 'warn', msg: 'previous session not ended; retrying', err }),
    expect.objectContaining({ level: 'error', msg: 'previous session not ended; gave up', err }),
  ]);
});
