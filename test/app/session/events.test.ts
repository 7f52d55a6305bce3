import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { request } from 'undici';
import { sessionLogId } from '../../../src/session/events.ts';
import { hashId, sessionKey } from '../../../src/session/store.ts';
import type { Grant } from '../../../src/session/record.ts';
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
const SAME_SITE = { 'sec-fetch-site': 'same-origin' };
const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
/** The request is part of a trace. */
const TRACED: Init = { headers: { traceparent: `00-${TRACE_ID}-00f067aa0ba902b7-01` } };

/** The only line with this message about a session or a request, once it is written. */
const lineOf = async (msg: string, sessionOrRequest: unknown): Promise<Line> => {
  const found = () =>
    testApp.logged
      .map((line) => JSON.parse(line) as Line)
      .filter((line) => line['msg'] === msg)
      .filter(({ session, requestId }) => session === sessionOrRequest || requestId === sessionOrRequest);
  await eventually(async () => found().length > 0);
  const [line = {}, ...more] = found();
  expect(more).toEqual([]);
  return line;
};
const send = async (cookie: string, path = API_PATH, init: Init = {}) => {
  const headers = { cookie, ...init.headers };
  const response = await fetch(testApp.origin + path, { redirect: 'manual', ...init, headers });
  await response.text();
  return { status: response.status, requestId: response.headers.get('x-request-id') };
};
/** Lets the token endpoint respond with `body`, and the service accept every token. */
const respondToTokenRequests = (body: object) => {
  testApp.intercept = (req, res) =>
    Boolean(res.end(req.url?.endsWith('/token') === true ? JSON.stringify(body) : '{}'));
};

describe('the log id of a session', () => {
  test('is the same in every process, and shares nothing with the session id or the key in Redis', () => {
    const id = 'ycvZ5hnkJbLxwqaQUPgzyC8wVZDpEZTLMSfvLbLjyzc';
    expect(sessionLogId(id)).toBe('RuuwgQWHK_9fnTS9');
    expect(hashId(id)).not.toContain(sessionLogId(id));
    expect(sessionLogId(`${id}.`)).not.toBe(sessionLogId(id));
  });

  test('is in the log line of each page request and API request with its cookie', async () => {
    testApp.intercept = (_req, res) => Boolean(res.end('{"value":[]}'));
    const { id, cookie } = await testApp.createSession();
    for (const path of [API_PATH, '/workspaces', '/auth/session']) {
      const { requestId } = await send(cookie, path);
      expect(await lineOf('request', requestId)).toMatchObject({ session: sessionLogId(id) });
    }
  });

  test.each([
    [403, API_PATH, { method: 'POST', headers: { 'sec-fetch-site': 'cross-site' } }],
    [404, '/api/elsewhere', {}],
    [400, '/api/%zz', {}],
    [405, API_PATH, { method: 'TRACE' }],
  ])(
    'is in the log line of a request that is refused with %i before the session is read',
    async (status, path, init) => {
      const { id, cookie } = await testApp.createSession();
      // Unlike fetch(), undici's request() sends TRACE.
      const { method = 'GET', headers = {} } = init as { method?: string; headers?: Record<string, string> };
      const response = await request(testApp.origin + path, { method, headers: { cookie, ...headers } });
      await response.body.dump();
      const line = await lineOf('request', response.headers['x-request-id']);
      expect(line).toMatchObject({ status, session: sessionLogId(id) });
    },
  );

  test('is not in the log line of a request without a valid session cookie', async () => {
    for (const cookie of ['', 'cloakroom=s%3Aforged.signature']) {
      const { requestId } = await send(cookie);
      expect(await lineOf('request', requestId)).not.toHaveProperty('session');
    }
  });
});

describe('the log of a session', () => {
  const logIdOf = async ({ jar }: Browser) => {
    const id = /cloakroom=s%3A([\w-]{43})\./.exec(await jar.getCookieString(testApp.origin))?.[1];
    return sessionLogId(id ?? '');
  };

  test('has its start and its end, with the requests that caused them', async () => {
    const { browser, page } = await testApp.signIn();
    const started = await lineOf('session started', await logIdOf(browser));
    expect(page.status).toBe(200);
    expect(await lineOf('request', started['requestId'])).toMatchObject({
      route: '/auth/callback',
      session: started['session'],
    });
    const out = await send(await browser.jar.getCookieString(testApp.origin), '/auth/logout', {
      method: 'POST',
      headers: SAME_SITE,
    });
    expect(await lineOf('session ended', started['session'])).toMatchObject({
      reason: 'signed_out',
      requestId: out.requestId,
    });
  });

  test('has one sign-out, however often the user presses the button', async () => {
    const { id, cookie } = await testApp.createSession();
    const init = { method: 'POST', headers: SAME_SITE };
    await Promise.all([1, 2, 3].map(async () => send(cookie, '/auth/logout', init)));
    expect(await lineOf('session ended', sessionLogId(id))).toMatchObject({ reason: 'signed_out' });
  });

  test('says that a new sign-in replaced the session', async () => {
    const { browser } = await testApp.signIn();
    const before = await logIdOf(browser);
    const consent = await browser.open(`${testApp.origin}/auth/login`);
    await browser.follow(await browser.press(consent, 'Allow'));
    const { requestId } = await lineOf('session started', await logIdOf(browser));
    expect(await lineOf('session ended', before)).toMatchObject({ reason: 'signed_in_again', requestId });
  });

  test('says that the token was refreshed, and by which request', async () => {
    respondToTokenRequests({ access_token: 'fresh', expires_in: 900 });
    const { id, cookie } = await testApp.createSession({ expiresAt: 0 });
    const { requestId } = await send(cookie, API_PATH, TRACED);
    expect(await lineOf('token refreshed', sessionLogId(id))).toMatchObject({
      level: 'info',
      session: sessionLogId(id),
      requestId,
      traceId: TRACE_ID,
    });
  });

  test('says that a refresh failed, for which request, and that a later one succeeded', async () => {
    respondToTokenRequests({ error: 'temporarily_unavailable' });
    const { id, cookie } = await testApp.createSession({ expiresAt: 0 });
    const { requestId } = await send(cookie, API_PATH, TRACED);
    expect(await lineOf('token refresh failed', sessionLogId(id))).toMatchObject({
      level: 'warn',
      requestId,
      traceId: TRACE_ID,
    });
    respondToTokenRequests({ access_token: 'fresh', expires_in: 900 });
    await eventually(async () => (await send(cookie)).status === 200);
    const refreshed = await lineOf('token refreshed', sessionLogId(id));
    expect(await lineOf('token refreshed by a later attempt', sessionLogId(id))).toMatchObject({
      attemptBefore: 'failed',
      requestId: refreshed['requestId'],
    });
  });

  test('says that the service ended the session', async () => {
    respondToTokenRequests({ error: 'invalid_grant' });
    const { id, cookie } = await testApp.createSession({ expiresAt: 0 });
    const { requestId } = await send(cookie, API_PATH, TRACED);
    expect(await lineOf('session ended', sessionLogId(id))).toMatchObject({
      reason: 'invalid_grant',
      requestId,
      traceId: TRACE_ID,
    });
  });

  describe.each([API_PATH, '/workspaces', '/auth/session'])('where a request for %s finds it', (path) => {
    test('too old, says that it ended', async () => {
      const { id, cookie } = await testApp.createSession();
      testApp.advance(testApp.config.sessionMaxSeconds * 1_000);
      const { requestId } = await send(cookie, path, TRACED);
      expect(await lineOf('session ended', sessionLogId(id))).toMatchObject({
        reason: 'age',
        requestId,
        traceId: TRACE_ID,
      });
    });

    test('with an invalid value, says that the value was refused', async () => {
      const { id, cookie } = await testApp.createSession();
      await testApp.redis.set(sessionKey(testApp.config.redisPrefix, id), 'never encrypted', 'KEEPTTL');
      const { requestId } = await send(cookie, path, TRACED);
      expect(await lineOf('session record refused', sessionLogId(id))).toMatchObject({
        requestId,
        traceId: TRACE_ID,
      });
    });
  });
});

describe('the log line of a request has the state of its token:', () => {
  const granted = { access_token: 'fresh', expires_in: 900 };
  /** Sends a request with a new session. Resolves with what its line says of its token. */
  const tokenOf = async (grant: Partial<Grant> = {}, path = API_PATH, init: Init = {}) => {
    const { requestId } = await send((await testApp.createSession(grant)).cookie, path, init);
    return (await lineOf('request', requestId))['token'];
  };
  /** Lets the service accept only a refreshed token. */
  const refuseOldTokens = () => {
    testApp.intercept = (req, res) => {
      if (req.url?.endsWith('/token') === true) return Boolean(res.end(JSON.stringify(granted)));
      const status = req.headers.authorization === 'Bearer fresh' ? 200 : 401;
      req.resume().on('end', () => res.writeHead(status).end('{"value":[]}'));
      return true;
    };
  };

  test('unexpired, refreshed ahead, refreshed', async () => {
    respondToTokenRequests(granted);
    expect(await tokenOf()).toBe('unexpired');
    expect(await tokenOf({ expiresAt: testApp.services.now() + 5_000 })).toBe('refreshed_ahead');
    expect(await tokenOf({ expiresAt: 0 })).toBe('refreshed');
  });

  test('replayed, where the service refused it once', async () => {
    refuseOldTokens();
    for (const path of [API_PATH, '/workspaces']) expect(await tokenOf({}, path)).toBe('replayed');
  });

  test('refused, where the request was too large to be replayed', async () => {
    refuseOldTokens();
    const init = { method: 'PUT', headers: SAME_SITE, body: 'a'.repeat(70_000) };
    expect(await tokenOf({}, API_PATH, init)).toBe('refused');
  });

  test('failed, where it could not be refreshed', async () => {
    respondToTokenRequests({ error: 'invalid_client' });
    expect(await tokenOf({ expiresAt: 0 })).toBe('failed');
  });

  test('none, where the request has no session', async () => {
    const { requestId } = await send('');
    expect(await lineOf('request', requestId)).not.toHaveProperty('token');
  });
});

test('the log line of a request has its bytes both ways, and the times of its parts', async () => {
  testApp.intercept = (req, res) => Boolean(req.resume().on('end', () => res.end('é'.repeat(10))));
  const { cookie } = await testApp.createSession();
  const init = { method: 'PUT', headers: SAME_SITE, body: 'twelve bytes' };
  const { requestId } = await send(cookie, API_PATH, init);
  const line = await lineOf('request', requestId);
  expect(line).toMatchObject({ route: '/api/*', status: 200, bytesIn: 12 });
  expect(line['bytes']).toBeGreaterThan(20); // the body, and the head before it
  expect(line['sessionMs']).toBeGreaterThan(0);
  expect(line['serviceMs']).toBeGreaterThan(0);
});

test('the log line of a refused request has the bytes of the problem', async () => {
  const { requestId } = await send('');
  const line = await lineOf('request', requestId);
  expect(line).toMatchObject({ status: 401 });
  expect(line['bytes']).toBeGreaterThan(100);
});
