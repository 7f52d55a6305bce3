import { createHash } from 'node:crypto';
import { afterEach, describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { Browser } from '../../support/browser.ts';
import { TOKEN_PATH, WORKSPACES_PATH } from '../../support/constants.ts';
import { useTestApp } from '../../support/fixtures.ts';
import { passSignIn, tokenRequests } from '../../support/test-app.ts';
import { eventually } from '../../support/eventually.ts';
import { sendRaw } from '../../support/raw.ts';

const testApp = useTestApp();
afterEach(() => {
  testApp.intercept = () => false;
  testApp.serviceRequests.length = 0;
});

/** The address that sign-in sends the browser to. */
async function begin(browser: Browser, returnTo = '/workspaces'): Promise<URL> {
  const page = await browser.fetch(`${testApp.origin}/auth/login?return_to=${encodeURIComponent(returnTo)}`);
  expect(page.status).toBe(302);
  return new URL(page.headers.get('location') ?? '');
}

const callback = (parameters: Record<string, string>) =>
  `${testApp.origin}/auth/callback?${new URLSearchParams(parameters).toString()}`;

/** An attempt whose callback is yet to come, with what it came back with. */
async function attempt(returnTo?: string) {
  const browser = new Browser();
  const state = (await begin(browser, returnTo)).searchParams.get('state') ?? '';
  return { browser, state };
}

/** The address that the service sends the browser back to, not yet opened. */
async function comeBack(browser: Browser, returnTo = '/workspaces'): Promise<string> {
  const page = await browser.open(await begin(browser, returnTo));
  const consent = page.text.includes('type="password"') ? await passSignIn(browser, page) : page;
  return (await browser.press(consent, 'Allow')).headers.get('location') ?? '';
}

describe('signing in', () => {
  test('asks the service with PKCE, a fresh state and the exact redirect_uri', async () => {
    const [one, two] = [await begin(new Browser()), await begin(new Browser())];
    expect(one.origin + one.pathname).toBe(`${testApp.serviceOrigin}/api/public/v1/authorization/oauth2/`);
    expect(Object.fromEntries(one.searchParams)).toEqual({
      client_id: 'demo-app',
      redirect_uri: `${testApp.origin}/auth/callback`,
      response_type: 'code',
      scope: 'room:read room:write workspace:read',
      state: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
    });
    expect(two.searchParams.get('state')).not.toBe(one.searchParams.get('state'));
    expect(two.searchParams.get('code_challenge')).not.toBe(one.searchParams.get('code_challenge'));
  });

  test('takes no redirect_uri from the request', async () => {
    const answer = await request(testApp.origin).get('/auth/login').set('host', 'evil.example').expect(302);
    expect(new URL(answer.headers['location'] ?? '').searchParams.get('redirect_uri')).toBe(
      `${testApp.origin}/auth/callback`,
    );
  });

  test('leads the whole way to the page that was asked for', async () => {
    const { page } = await testApp.signIn('/workspaces?page=2');
    expect(page.status).toBe(200);
    expect(page.url.href).toBe(`${testApp.origin}/workspaces?page=2`);
  });

  test('leads home where it was told to leave the site', async () => {
    const { page } = await testApp.signIn('//evil.example/');
    expect(page.url.href).toBe(`${testApp.origin}/workspaces`);
  });

  test('ends with a 303 and a cookie that no script reads', async () => {
    const browser = new Browser();
    const done = await browser.fetch(await comeBack(browser));
    expect(done.status).toBe(303);
    expect(done.headers.get('clear-site-data')).toBe('"cache"');
    const cookie = done.headers.getSetCookie().find((line) => line.startsWith('cloakroom='));
    expect(cookie).toMatch(/^cloakroom=s%3A[\w-]{43}\.[^;]+; Path=\/; HttpOnly; SameSite=Lax$/);
  });

  test('works in several tabs at once', async () => {
    const browser = new Browser();
    const tabs = [await begin(browser, '/workspaces?page=1'), await begin(browser, '/workspaces?page=2')];
    const consent = await passSignIn(browser, await browser.open(tabs[0] ?? ''));
    const other = await browser.open(tabs[1] ?? '');
    const second = await browser.fetch((await browser.press(other, 'Allow')).headers.get('location') ?? '');
    const first = await browser.fetch((await browser.press(consent, 'Allow')).headers.get('location') ?? '');
    expect(second.headers.get('location')).toBe('/workspaces?page=2');
    expect(first.headers.get('location')).toBe('/workspaces?page=1');
  });

  test('works in several tabs that begin at the very same time', async () => {
    const browser = new Browser();
    const [one, two] = await Promise.all([
      begin(browser, '/workspaces?page=1'),
      begin(browser, '/workspaces?page=2'),
    ]);
    const consent = await passSignIn(browser, await browser.open(one));
    const first = await browser.fetch((await browser.press(consent, 'Allow')).headers.get('location') ?? '');
    expect(first.headers.get('location')).toBe('/workspaces?page=1');
    const second = await browser.press(await browser.open(two), 'Allow');
    expect((await browser.fetch(second.headers.get('location') ?? '')).headers.get('location')).toBe(
      '/workspaces?page=2',
    );
  });

  test('ends the session that the browser had when it began, though a strict cookie stays behind', async () => {
    const { browser } = await testApp.signIn();
    const before = (await browser.cookie(testApp.origin, 'cloakroom')) ?? '';
    const address = await comeBack(browser);
    // A strict session cookie does not come along from another site; the one of the attempt is lax.
    const cookies = await browser.jar.getCookieString(testApp.origin);
    const without = cookies.split('; ').filter((pair) => !pair.startsWith('cloakroom='));
    expect((await new Browser().fetch(address, { headers: { cookie: without.join('; ') } })).status).toBe(
      303,
    );
    expect(await testApp.services.store.read(decodeURIComponent(before).slice(2, 45))).toBeNull();
  });

  test('gives a new session id and ends the old session', async () => {
    const { browser } = await testApp.signIn();
    const before = await browser.cookie(testApp.origin, 'cloakroom');
    await browser
      .open(`${testApp.origin}/auth/login`)
      .then(async (consent) => browser.follow(await browser.press(consent, 'Allow')));
    const after = await browser.cookie(testApp.origin, 'cloakroom');
    expect(after).not.toBe(before);
    const api = (cookie: string | undefined) =>
      request(testApp.origin).get('/api/public/v1/workspaces?limit=2').set('cookie', `cloakroom=${cookie}`);
    expect((await api(before).expect(401)).body.code).toBe('session_expired');
    await api(after).expect(200);
  });

  test('leaves nothing in Redis that opens anything', async () => {
    const { browser } = await testApp.signIn();
    await begin(new Browser());
    const id = /^s:([\w-]{43})\./.exec(
      decodeURIComponent((await browser.cookie(testApp.origin, 'cloakroom')) ?? ''),
    )?.[1];
    expect(id).toBeDefined();
    const dump = await dumpRedis();
    expect(dump).toMatch(/cloakroom:session:/);
    expect(dump).toMatch(/cloakroom:signin:/);
    expect(dump).not.toContain(id);
    const session = await testApp.services.store.read(id ?? '');
    expect(dump).not.toContain(session?.record.grant.accessToken);
    expect(dump).not.toContain(session?.record.grant.refreshToken);
  });

  test('leaves no key without a time to live', async () => {
    await testApp.signIn();
    await begin(new Browser());
    const keys = await testApp.redis.keys('cloakroom:*');
    expect(keys.length).toBeGreaterThan(1);
    expect(await Promise.all(keys.map(async (key) => testApp.redis.ttl(key)))).not.toContain(-1);
  });

  test('keeps an attempt for ten minutes', async () => {
    const { state } = await attempt();
    const key = `cloakroom:signin:${createHash('sha256').update(state).digest('base64url')}`;
    expect(await testApp.redis.ttl(key)).toBeGreaterThan(590);
    expect(await testApp.redis.ttl(key)).toBeLessThanOrEqual(600);
  });
});

test.each(['/auth/Login', '/AUTH/login', '/auth/CALLBACK', '/Auth/session'])(
  'the address %s is a 404: paths are case-sensitive',
  async (path) => {
    const { status } = await fetch(testApp.origin + path, { redirect: 'manual' });
    expect(status).toBe(404);
  },
);

describe('a callback', () => {
  const page = async (browser: Browser, parameters: Record<string, string>) => {
    const answer = await browser.fetch(callback(parameters));
    expect(answer.headers.get('content-type')).toMatch(/^text\/html/);
    expect(answer.text).toContain(answer.headers.get('x-request-id'));
    return answer;
  };

  test('of a user who refused is a 403 page that offers to try again', async () => {
    const { browser, state } = await attempt('/workspaces?page=3');
    const answer = await page(browser, { state, error: 'access_denied' });
    expect(answer.status).toBe(403);
    expect(answer.text).toContain('You chose not to allow access, so nothing has changed.');
    expect(answer.text).toContain(`href="/auth/login?return_to=${encodeURIComponent('/workspaces?page=3')}"`);
    expect(answer.text).toContain('Try again');
  });

  test('with another error is a 502 page with its code', async () => {
    const { browser, state } = await attempt();
    const answer = await page(browser, { state, error: 'temporarily_unavailable' });
    expect(answer.status).toBe(502);
    expect(answer.text).toContain('The service reported a problem (“temporarily_unavailable”).');
  });

  test('shows nothing of an error that is none', async () => {
    const { browser, state } = await attempt();
    const answer = await page(browser, {
      state,
      error: '<script>alert(1)</script>',
      error_description: 'call 0900',
    });
    expect(answer.status).toBe(502);
    expect(answer.text).not.toContain('alert(1)');
    expect(answer.text).not.toContain('0900');
  });

  test('puts of its error no more into the log than OAuth’s own codes', async () => {
    const made = 'QUERYVALUESEKRET-eyJhbGciOi.abc';
    for (const error of [made, 'unsupported_response_type']) {
      const { browser, state } = await attempt();
      expect((await page(browser, { state, error })).status).toBe(502);
    }
    const log = testApp.logged.join('');
    expect(log).not.toContain('QUERYVALUE');
    expect(log).toContain('authorization response with an unknown error');
    expect(log).toContain('authorization response with unsupported_response_type');
  });

  test('without a code is a 400 page', async () => {
    const { browser, state } = await attempt();
    expect((await page(browser, { state })).status).toBe(400);
  });

  test.each<Record<string, string>>([{}, { code: 'x' }, { state: 'unknown', code: 'x' }])(
    'with %j and no attempt is a 400 page that offers to try again',
    async (parameters) => {
      const answer = await page(new Browser(), parameters);
      expect(answer.status).toBe(400);
      expect(answer.text).toContain('Try again');
    },
  );

  test('a second time is a 400 page, or leads on who is signed in', async () => {
    const browser = new Browser();
    const address = await comeBack(browser);
    await browser.fetch(address);
    const again = await browser.fetch(address);
    expect([again.status, again.headers.get('location')]).toEqual([303, '/workspaces']);
    const { browser: other, state } = await attempt();
    await other.fetch(callback({ state, error: 'access_denied' }));
    expect((await page(other, { state, code: 'x' })).status).toBe(400);
    expect(tokenRequests(testApp)).toHaveLength(1);
  });

  test('in another browser than the one that began is refused', async () => {
    const victim = new Browser();
    await begin(victim);
    const attacker = new Browser();
    const address = await comeBack(attacker);
    const answer = await victim.fetch(address);
    expect(answer.status).toBe(400);
    expect(await victim.cookie(testApp.origin, 'cloakroom')).toBeUndefined();
    expect(tokenRequests(testApp)).toEqual([]);
  });

  test.each([
    ['refuses the code', 502, (): object => ({ error: 'invalid_grant' })],
    ['answers nonsense', 502, (): object => ({})],
    ['breaks the connection', 502, () => null],
  ])(
    'whose code the token endpoint %s is a %i page that offers to try again',
    async (_what, status, answerWith) => {
      const { browser, state } = await attempt();
      testApp.intercept = (req, res) => {
        if (req.url !== TOKEN_PATH) return false;
        const answer = answerWith();
        return Boolean(answer === null ? req.socket.destroy() : res.end(JSON.stringify(answer)));
      };
      const answer = await page(browser, { state, code: 'x' });
      expect(answer.status).toBe(status);
      expect(answer.text).toContain('Try again');
      expect(answer.text).not.toMatch(/ at .*\.ts|node_modules/);
    },
  );

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
  ])('at a mangled address leaves its values out of the log: /auth/callback%s', async (mangled) => {
    testApp.logged.length = 0;
    const answer = await fetch(`${testApp.origin}/auth/callback${mangled}`);
    expect(answer.status).toBe(404);
    const requestId = answer.headers.get('x-request-id') ?? 'none';
    const lines = () => testApp.logged.filter((line) => line.includes(requestId));
    await eventually(async () => lines().some((line) => line.includes('"msg":"request"')));
    const log = lines().join('');
    expect(log).toContain('"path":"/auth/callback');
    expect(log).not.toContain('SEKRET');
  });

  test('says nothing secret in the log', async () => {
    const { browser } = await testApp.signIn();
    await browser.open(`${testApp.origin}/workspaces?limit=3&secret=query-value`);
    const id = decodeURIComponent((await browser.cookie(testApp.origin, 'cloakroom')) ?? '').slice(2, 45);
    const session = await testApp.services.store.read(id);
    const { state } = await attempt();
    await browser.fetch(`${testApp.origin}/auth/callback#state=fragment-secret`);
    await sendRaw(
      testApp,
      'GET http://me:target-secret@host/api/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    );
    await sendRaw(
      testApp,
      'GET /workspaces#token=raw-secret HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    );
    testApp.intercept = (req, res) =>
      req.url === TOKEN_PATH && Boolean(res.end('{"error":"quotes demo-secret"}'));
    const spent = await testApp.createSession({ expiresAt: 0 });
    await request(testApp.origin).get('/api/public/v1/x').set('cookie', spent.cookie).expect(503);
    const log = testApp.logged.join('');
    expect(log).toContain('"path":"/auth/callback"');
    for (const secret of [
      ...[id, session?.record.grant.accessToken, session?.record.grant.refreshToken, state],
      ...['query-value', 'code=', 'state=', 'demo-secret', 'fragment-secret', 'target-secret', 'raw-secret'],
    ]) {
      expect(log).not.toContain(secret);
    }
  });
});

describe('signing out', () => {
  const SAME_SITE = { 'sec-fetch-site': 'same-origin' };

  test('ends the session for good, clears the cookie and what the browser has kept', async () => {
    const { browser } = await testApp.signIn();
    const cookie = await browser.cookie(testApp.origin, 'cloakroom');
    const done = await browser.fetch(`${testApp.origin}/auth/logout`, { method: 'POST', headers: SAME_SITE });
    expect([done.status, done.headers.get('location')]).toEqual([303, '/']);
    expect(done.headers.get('clear-site-data')).toBe('"cache", "storage"');
    expect(await browser.cookie(testApp.origin, 'cloakroom')).toBeUndefined();
    const api = await request(testApp.origin).get(WORKSPACES_PATH).set('cookie', `cloakroom=${cookie}`);
    expect(api.body.code).toBe('session_expired');
  });

  test('answers a script with 204', async () => {
    const { cookie } = await testApp.createSession();
    await request(testApp.origin)
      .post('/auth/logout')
      .set({ ...SAME_SITE, cookie, accept: 'application/json' })
      .expect(204);
  });

  test.each([{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }, { origin: 'null' }, {}])(
    'is refused with %j',
    async (headers) => {
      const { id, cookie } = await testApp.createSession();
      await request(testApp.origin)
        .post('/auth/logout')
        .set({ ...headers, cookie })
        .expect(403);
      expect(await testApp.services.store.read(id)).not.toBeNull();
    },
  );

  test('takes no GET', async () => {
    const { id, cookie } = await testApp.createSession();
    const answer = await request(testApp.origin).get('/auth/logout').set('cookie', cookie).expect(405);
    expect(answer.headers['allow']).toBe('POST');
    expect(answer.text).toContain('You have not been signed out');
    expect(await testApp.services.store.read(id)).not.toBeNull();
  });
});

async function dumpRedis(): Promise<string> {
  const keys = await testApp.redis.keys('cloakroom:*');
  const values = await Promise.all(
    keys.map(async (key) => {
      const type = await testApp.redis.type(key);
      if (type === 'hash') return JSON.stringify(await testApp.redis.hgetall(key));
      if (type === 'list') return JSON.stringify(await testApp.redis.lrange(key, 0, -1));
      return (await testApp.redis.get(key)) ?? '';
    }),
  );
  return [...keys, ...values].join('\n');
}
