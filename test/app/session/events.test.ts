import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { request } from 'undici';
import { sessionLogId } from '../../../src/session/events.ts';
import { hashId, sessionKey } from '../../../src/session/store.ts';
import type { Browser } from '../../support/browser.ts';
import { API_PATH } from '../../support/constants.ts';
import { useTestApp } from '../../support/fixtures.ts';
import { eventually } from '../../support/eventually.ts';

const testApp = useTestApp();
beforeEach(() => {
  testApp.logged.length = 0;
});
afterEach(() => {
  testApp.intercept = () => false;
});

type Init = Omit<RequestInit, 'headers'> & { readonly headers?: Readonly<Record<string, string>> };
type Line = Readonly<Record<string, unknown>>;
const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
/** The request is part of a trace. */
const TRACED: Init = { headers: { traceparent: `00-${TRACE_ID}-00f067aa0ba902b7-01` } };
const lines = (msg: string): Line[] =>
  testApp.logged.map((line) => JSON.parse(line) as Line).filter((line) => line['msg'] === msg);
/** The only line of a kind, once it is there, about that session or request: those of a test before may still come. */
const only = async (msg: string, of: unknown): Promise<Line> => {
  const found = () => lines(msg).filter(({ session, requestId }) => session === of || requestId === of);
  await eventually(async () => found().length > 0);
  const [line = {}, ...more] = found();
  expect(more).toEqual([]);
  return line;
};
const ask = async (cookie: string, path = API_PATH, init: Init = {}) => {
  const headers = { cookie, ...init.headers };
  const answer = await fetch(testApp.origin + path, { redirect: 'manual', ...init, headers });
  await answer.text();
  return { status: answer.status, requestId: answer.headers.get('x-request-id') };
};
/** The service answers 200 to what its token endpoint gives. */
const tokenEndpointSays = (answer: object) => {
  testApp.intercept = (req, res) =>
    Boolean(res.end(req.url?.endsWith('/token') === true ? JSON.stringify(answer) : '{}'));
};

describe('the pseudonym of a session', () => {
  test('is the same wherever it is made, and shares nothing with the id or the key in Redis', () => {
    const id = 'ycvZ5hnkJbLxwqaQUPgzyC8wVZDpEZTLMSfvLbLjyzc';
    expect(sessionLogId(id)).toBe('RuuwgQWHK_9fnTS9');
    expect(hashId(id)).not.toContain(sessionLogId(id));
    expect(sessionLogId(`${id}.`)).not.toBe(sessionLogId(id));
  });

  test('is in the line of each request with its cookie, of pages as of calls', async () => {
    testApp.intercept = (_req, res) => Boolean(res.end('{"value":[]}'));
    const { id, cookie } = await testApp.createSession();
    const asked: unknown[] = [];
    for (const path of [API_PATH, '/workspaces', '/auth/session'])
      asked.push((await ask(cookie, path)).requestId);
    for (const requestId of asked)
      expect(await only('request', requestId)).toMatchObject({ session: sessionLogId(id) });
  });

  test.each([
    [403, API_PATH, { method: 'POST', headers: { 'sec-fetch-site': 'cross-site' } }],
    [404, '/api/elsewhere', {}],
    [400, '/api/%zz', {}],
    [405, API_PATH, { method: 'TRACE' }],
  ])(
    'is in the line of a call that is refused with %i before anybody asks Redis',
    async (status, path, init) => {
      const { id, cookie } = await testApp.createSession();
      const { method = 'GET', headers = {} } = init as { method?: string; headers?: Record<string, string> };
      const answer = await request(testApp.origin + path, {
        method,
        headers: { cookie, ...headers },
      });
      await answer.body.dump();
      const told = await only('request', answer.headers['x-request-id']);
      expect(told).toMatchObject({ status, session: sessionLogId(id) });
    },
  );

  test('is in no line of a request without a cookie of ours', async () => {
    for (const cookie of ['', 'cloakroom=s%3Aforged.signature']) {
      const { requestId } = await ask(cookie);
      expect(await only('request', requestId)).not.toHaveProperty('session');
    }
  });
});

describe('the life of a session', () => {
  const pseudonymIn = async ({ jar }: Browser) => {
    const id = /cloakroom=s%3A([\w-]{43})\./.exec(await jar.getCookieString(testApp.origin))?.[1];
    return sessionLogId(id ?? '');
  };

  test('is told from sign-in to sign-out, with the requests that made it', async () => {
    const { browser, page } = await testApp.signIn();
    const started = await only('session started', await pseudonymIn(browser));
    expect(page.status).toBe(200);
    expect(await only('request', started['requestId'])).toMatchObject({
      route: '/auth/callback',
      session: started['session'],
    });
    const out = await ask(await browser.jar.getCookieString(testApp.origin), '/auth/logout', {
      method: 'POST',
      headers: { 'sec-fetch-site': 'same-origin' },
    });
    expect(await only('session ended', started['session'])).toMatchObject({
      reason: 'signed_out',
      requestId: out.requestId,
    });
  });

  test('tells that it was signed out once, however often somebody presses the button', async () => {
    const { id, cookie } = await testApp.createSession();
    const init = { method: 'POST', headers: { 'sec-fetch-site': 'same-origin' } };
    await Promise.all([1, 2, 3].map(async () => ask(cookie, '/auth/logout', init)));
    expect(await only('session ended', sessionLogId(id))).toMatchObject({ reason: 'signed_out' });
  });

  test('tells that it was replaced by a new sign-in', async () => {
    const { browser } = await testApp.signIn();
    const before = await pseudonymIn(browser);
    const consent = await browser.open(`${testApp.origin}/auth/login`);
    await browser.follow(await browser.press(consent, 'Allow'));
    const { requestId } = await only('session started', await pseudonymIn(browser));
    expect(await only('session ended', before)).toMatchObject({ reason: 'signed_in_again', requestId });
  });

  test('tells that it was renewed, and by which request', async () => {
    tokenEndpointSays({ access_token: 'fresh', expires_in: 900 });
    const { id, cookie } = await testApp.createSession({ expiresAt: 0 });
    const { requestId } = await ask(cookie, API_PATH, TRACED);
    expect(await only('token refreshed', sessionLogId(id))).toMatchObject({
      level: 'info',
      session: sessionLogId(id),
      requestId,
      traceId: TRACE_ID,
    });
  });

  test('tells that a renewal failed, for which request, and that another made it good', async () => {
    tokenEndpointSays({ error: 'temporarily_unavailable' });
    const { id, cookie } = await testApp.createSession({ expiresAt: 0 });
    const { requestId } = await ask(cookie, API_PATH, TRACED);
    expect(await only('token refresh failed', sessionLogId(id))).toMatchObject({
      level: 'warn',
      requestId,
      traceId: TRACE_ID,
    });
    tokenEndpointSays({ access_token: 'fresh', expires_in: 900 });
    await eventually(async () => (await ask(cookie)).status === 200);
    const renewed = await only('token refreshed', sessionLogId(id));
    expect(await only('token refreshed by a later attempt', sessionLogId(id))).toMatchObject({
      attemptBefore: 'failed',
      requestId: renewed['requestId'],
    });
  });

  test('tells that the service has ended it', async () => {
    tokenEndpointSays({ error: 'invalid_grant' });
    const { id, cookie } = await testApp.createSession({ expiresAt: 0 });
    const { requestId } = await ask(cookie, API_PATH, TRACED);
    expect(await only('session ended', sessionLogId(id))).toMatchObject({
      reason: 'invalid_grant',
      requestId,
      traceId: TRACE_ID,
    });
  });

  describe.each([API_PATH, '/workspaces', '/auth/session'])(
    'tells the one who came to %s with it',
    (path) => {
      test('that it was past its age', async () => {
        const { id, cookie } = await testApp.createSession();
        testApp.advance(testApp.config.sessionMaxSeconds * 1_000);
        const { requestId } = await ask(cookie, path, TRACED);
        expect(await only('session ended', sessionLogId(id))).toMatchObject({
          reason: 'age',
          requestId,
          traceId: TRACE_ID,
        });
      });

      test('that its value was refused', async () => {
        const { id, cookie } = await testApp.createSession();
        await testApp.redis.set(sessionKey(testApp.config.redisPrefix, id), 'never encrypted', 'KEEPTTL');
        const { requestId } = await ask(cookie, path, TRACED);
        expect(await only('session value refused', sessionLogId(id))).toMatchObject({
          requestId,
          traceId: TRACE_ID,
        });
      });
    },
  );
});

describe('the line of a request tells what became of its token:', () => {
  const tokenOf = async (cookie: string, path = API_PATH, init: Init = {}) => {
    const { requestId } = await ask(cookie, path, init);
    const find = () => lines('request').find((line) => line['requestId'] === requestId);
    await eventually(async () => find() !== undefined);
    return find()?.['token'];
  };
  const granted = { access_token: 'fresh', expires_in: 900 };
  /** The service takes only what is renewed. */
  const refusesOld = () => {
    testApp.intercept = (req, res) => {
      if (req.url?.endsWith('/token') === true) return Boolean(res.end(JSON.stringify(granted)));
      const status = req.headers.authorization === 'Bearer fresh' ? 200 : 401;
      req.resume().on('end', () => res.writeHead(status).end('{"value":[]}'));
      return true;
    };
  };

  test('it was unexpired', async () => {
    tokenEndpointSays(granted);
    expect(await tokenOf((await testApp.createSession()).cookie)).toBe('unexpired');
  });

  test('it was expiring, and refreshed in the background', async () => {
    tokenEndpointSays(granted);
    const { cookie } = await testApp.createSession({ expiresAt: testApp.services.now() + 5_000 });
    expect(await tokenOf(cookie)).toBe('refreshed_ahead');
  });

  test('it had expired, and was refreshed', async () => {
    tokenEndpointSays(granted);
    expect(await tokenOf((await testApp.createSession({ expiresAt: 0 })).cookie)).toBe('refreshed');
  });

  test('it was refused, and the call replayed', async () => {
    refusesOld();
    expect(await tokenOf((await testApp.createSession()).cookie)).toBe('replayed');
  });

  test('it was refused, and what a page asks replayed', async () => {
    refusesOld();
    expect(await tokenOf((await testApp.createSession()).cookie, '/workspaces')).toBe('replayed');
  });

  test('it was refused, and the call too large to be replayed', async () => {
    refusesOld();
    const init = { method: 'PUT', headers: { 'sec-fetch-site': 'same-origin' }, body: 'a'.repeat(70_000) };
    expect(await tokenOf((await testApp.createSession()).cookie, API_PATH, init)).toBe('refused');
  });

  test('it had expired, and could not be refreshed', async () => {
    tokenEndpointSays({ error: 'invalid_client' });
    expect(await tokenOf((await testApp.createSession({ expiresAt: 0 })).cookie)).toBe('failed');
  });

  test('nothing, where the call did not come so far', async () => {
    expect(await tokenOf('')).toBeUndefined();
  });
});

test('the line of a call tells its bytes both ways, and what its parts took', async () => {
  testApp.intercept = (req, res) => Boolean(req.resume().on('end', () => res.end('é'.repeat(10))));
  const { cookie } = await testApp.createSession();
  const init = { method: 'PUT', headers: { 'sec-fetch-site': 'same-origin' }, body: 'twelve bytes' };
  const { requestId } = await ask(cookie, API_PATH, init);
  const line = await only('request', requestId);
  expect(line).toMatchObject({ route: '/api/*', status: 200, bytesIn: 12 });
  expect(line['bytes']).toBeGreaterThan(20); // the body, and the head before it
  expect(line['sessionMs']).toBeGreaterThan(0);
  expect(line['serviceMs']).toBeGreaterThan(0);
});

test('the line of a call that is refused tells the bytes of the problem', async () => {
  const { requestId } = await ask('');
  const line = await only('request', requestId);
  expect(line).toMatchObject({ status: 401 });
  expect(line['bytes']).toBeGreaterThan(100);
});
