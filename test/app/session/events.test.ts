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
const GRANTED = { access_token: 'fresh', expires_in: 900 };
const MAX_AGE_MS = 43_200_000;
const SAME_SITE = { 'sec-fetch-site': 'same-origin' };
const LOGOUT = ['/auth/logout', { method: 'POST', headers: SAME_SITE }] as const;
const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
/** Options for a request that is part of a trace. */
const TRACED: Init = { headers: { traceparent: `00-${TRACE_ID}-00f067aa0ba902b7-01` } };

/** Resolves with the log line that has this message and this session or request, once it is written. */
const lineOf = async (msg: string, sessionOrRequest: unknown): Promise<Line> => {
  const isMatch = (line: Line) =>
    line['msg'] === msg && [line['session'], line['requestId']].includes(sessionOrRequest);
  const found = () => testApp.logged.map((line) => JSON.parse(line) as Line).filter(isMatch);
  await eventually(async () => found().length > 0);
  expect(found()).toHaveLength(1);
  return found()[0] ?? {};
};
const send = async (cookie: string, path = API_PATH, init: Init = {}) => {
  const headers = { cookie, ...init.headers };
  const response = await fetch(testApp.origin + path, { redirect: 'manual', ...init, headers });
  await response.text();
  return { status: response.status, requestId: response.headers.get('x-request-id') };
};
/** Makes the token endpoint respond with `body`, and the service accept every token. */
const respondToTokenRequests = (body: object) => {
  testApp.intercept = (req, res) =>
    Boolean(res.end(req.url?.endsWith('/token') === true ? JSON.stringify(body) : '{}'));
};

describe('the log id of a session', () => {
  test('is the same in every process and is not part of the session id or the Redis key', () => {
    const id = 'ycvZ5hnkJbLxwqaQUPgzyC8wVZDpEZTLMSfvLbLjyzc';
    expect(sessionLogId(id)).toBe('RuuwgQWHK_9fnTS9');
    expect(hashId(id)).not.toContain(sessionLogId(id));
    expect(sessionLogId(`${id}.`)).not.toBe(sessionLogId(id));
  });

  test('is logged for each page request and API request that has the session cookie', async () => {
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
  ])('is logged for a request refused with a %i before the session is read', async (status, path, init) => {
    const { id, cookie } = await testApp.createSession();
    // Unlike fetch(), undici's request() can send TRACE.
    const { method = 'GET', headers = {} } = init as { method?: string; headers?: Record<string, string> };
    const response = await request(testApp.origin + path, { method, headers: { cookie, ...headers } });
    await response.body.dump();
    const line = await lineOf('request', response.headers['x-request-id']);
    expect(line).toMatchObject({ status, session: sessionLogId(id) });
  });

  test('is not logged for a request without a valid session cookie', async () => {
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

  test('shows its start and end, and the requests that caused them', async () => {
    const { browser, page } = await testApp.signIn();
    const started = await lineOf('session started', await logIdOf(browser));
    expect(page.status).toBe(200);
    expect(await lineOf('request', started['requestId'])).toMatchObject({
      route: '/auth/callback',
      session: started['session'],
    });
    const { requestId } = await send(await browser.jar.getCookieString(testApp.origin), ...LOGOUT);
    const ended = await lineOf('session ended', started['session']);
    expect(ended).toMatchObject({ reason: 'signed_out', requestId });
  });

  test('shows a single sign-out, however often the user presses the button', async () => {
    const { id, cookie } = await testApp.createSession();
    await Promise.all([1, 2, 3].map(async () => send(cookie, ...LOGOUT)));
    expect(await lineOf('session ended', sessionLogId(id))).toMatchObject({ reason: 'signed_out' });
  });

  test('shows that a new sign-in replaced the session', async () => {
    const { browser } = await testApp.signIn();
    const before = await logIdOf(browser);
    const consent = await browser.open(`${testApp.origin}/auth/login`);
    await browser.follow(await browser.press(consent, 'Allow'));
    const { requestId } = await lineOf('session started', await logIdOf(browser));
    expect(await lineOf('session ended', before)).toMatchObject({ reason: 'signed_in_again', requestId });
  });

  test.each([
    ['token refreshed', GRANTED, { level: 'info' }],
    ['token refresh failed', { error: 'temporarily_unavailable' }, { level: 'warn' }],
    ['session ended', { error: 'invalid_grant' }, { reason: 'invalid_grant' }],
  ])('has the line "%s" after a refresh, with the request id', async (msg, tokenResponse, fields) => {
    respondToTokenRequests(tokenResponse);
    const requestOf = new Map<unknown, unknown>();
    let line: Line | undefined;
    // The limit for lines with an error may leave out the first ones.
    await eventually(async () => {
      const { id, cookie } = await testApp.createSession({ expiresAt: 0 });
      requestOf.set(sessionLogId(id), (await send(cookie, API_PATH, TRACED)).requestId);
      line = testApp.logged.map((text) => JSON.parse(text) as Line).find((each) => each['msg'] === msg);
      return line !== undefined;
    });
    expect(line).toMatchObject({ ...fields, requestId: requestOf.get(line?.['session']), traceId: TRACE_ID });
  });

  test('shows that a refresh succeeded after a failed attempt', async () => {
    respondToTokenRequests({ error: 'temporarily_unavailable' });
    const { id, cookie } = await testApp.createSession({ expiresAt: 0 });
    await send(cookie);
    respondToTokenRequests(GRANTED);
    await eventually(async () => (await send(cookie)).status === 200);
    const { requestId } = await lineOf('token refreshed', sessionLogId(id));
    expect(await lineOf('token refreshed by a later attempt', sessionLogId(id))).toMatchObject({
      attemptBefore: 'failed',
      requestId,
    });
  });

  describe.each([API_PATH, '/workspaces', '/auth/session'])('after a request for %s', (path) => {
    const expire = () => testApp.advanceClock(MAX_AGE_MS);
    const overwrite = async (id: string) =>
      testApp.redis.set(sessionKey(testApp.config.redisPrefix, id), 'never encrypted', 'KEEPTTL');
    test.each([
      ['is past its maximum age', 'session ended', { reason: 'age' }, expire],
      ['has an invalid value', 'session record refused', {}, overwrite],
    ])('whose session %s has the line "%s"', async (_how, msg, fields, change) => {
      const { id, cookie } = await testApp.createSession();
      await change(id);
      const { requestId } = await send(cookie, path, TRACED);
      expect(await lineOf(msg, sessionLogId(id))).toMatchObject({ ...fields, requestId, traceId: TRACE_ID });
    });
  });
});

describe('the token state in the log line for a request is', () => {
  /** Sends a request with a new session. Resolves with the token state in its log line. */
  const tokenOf = async (grant: Partial<Grant> = {}, path = API_PATH, init: Init = {}) => {
    const { requestId } = await send((await testApp.createSession(grant)).cookie, path, init);
    return (await lineOf('request', requestId))['token'];
  };
  /** Makes the service accept only a refreshed token. */
  const refuseOldTokens = () => {
    testApp.intercept = (req, res) => {
      if (req.url?.endsWith('/token') === true) return Boolean(res.end(JSON.stringify(GRANTED)));
      const status = req.headers.authorization === 'Bearer fresh' ? 200 : 401;
      req.resume().on('end', () => res.writeHead(status).end('{"value":[]}'));
      return true;
    };
  };

  test('unexpired, refreshed_ahead or refreshed, depending on when the token expires', async () => {
    respondToTokenRequests(GRANTED);
    expect(await tokenOf()).toBe('unexpired');
    expect(await tokenOf({ expiresAt: testApp.services.now() + 5_000 })).toBe('refreshed_ahead');
    expect(await tokenOf({ expiresAt: 0 })).toBe('refreshed');
  });

  test('replayed if the service refused the token once', async () => {
    refuseOldTokens();
    for (const path of [API_PATH, '/workspaces']) expect(await tokenOf({}, path)).toBe('replayed');
  });

  test('refused if the request was too large to be replayed', async () => {
    refuseOldTokens();
    const init = { method: 'PUT', headers: SAME_SITE, body: 'a'.repeat(70_000) };
    expect(await tokenOf({}, API_PATH, init)).toBe('refused');
  });

  test('missing if the request has no session', async () => {
    const { requestId } = await send('');
    expect(await lineOf('request', requestId)).not.toHaveProperty('token');
  });
});

test('the log line for a request contains the byte counts in both directions and the duration of each phase', async () => {
  testApp.intercept = (req, res) => Boolean(req.resume().on('end', () => res.end('é'.repeat(10))));
  const { cookie } = await testApp.createSession();
  const init = { method: 'PUT', headers: SAME_SITE, body: 'twelve bytes' };
  const { requestId } = await send(cookie, API_PATH, init);
  const line = await lineOf('request', requestId);
  expect(line).toMatchObject({ route: '/api/*', status: 200, bytesIn: 12 });
  expect(line['bytes']).toBeGreaterThan(20); // the body and the response head
  expect(line['sessionMs']).toBeGreaterThan(0);
  expect(line['serviceMs']).toBeGreaterThan(0);
});
