import type { ServerResponse } from 'node:http';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { createDeferred } from '../../../src/promises.ts';
import { API_PATH as PATH } from '../../support/constants.ts';
import { eventually } from '../../support/eventually.ts';
import { requestsInFlight } from '../../support/metrics-app.ts';
import { useTestApp } from '../../support/fixtures.ts';

// Neither a busy session nor a slow service blocks requests in other sessions (docs/decisions/0009).

/** The service withholds its responses to requests for this path. */
const HELD = '/api/public/v1/held';

const testApp = useTestApp({
  MAX_REQUESTS: '10',
  MAX_REQUESTS_PER_SESSION: '5',
  SERVICE_CONNECTIONS: '4',
  METRICS_PORT: '65000', // the metrics show how many requests are in flight
});
const held: ServerResponse[] = [];
beforeAll(() => {
  testApp.intercept = (req, res) => {
    if (req.url?.startsWith(HELD) === true) held.push(res);
    else res.end('{}');
    return true;
  };
});
afterEach(async () => {
  await respondToAll();
  testApp.serviceRequests.length = 0;
});

const request = async (cookie: string, path = PATH, init: RequestInit = {}) => {
  const response = await fetch(testApp.origin + path, { headers: { cookie }, ...init });
  const text = await response.text();
  return { status: response.status, retryAfter: response.headers.get('retry-after'), text };
};

/** Responds to held requests until none is in flight. */
async function respondToAll(): Promise<void> {
  await eventually(async () => {
    for (const res of held.splice(0)) res.end('{}');
    return inFlight === 0;
  });
}
let inFlight = 0;

/** Sends requests that the service holds until respondToAll() is called. */
function sendHeld(cookie: string, count: number): ReturnType<typeof request>[] {
  return Array.from({ length: count }, async () => {
    inFlight += 1;
    try {
      return await request(cookie, HELD);
    } finally {
      inFlight -= 1;
    }
  });
}

/** Resolves once the service is holding this many requests. */
const untilHeld = async (count: number) => eventually(async () => held.length === count);

describe('a session', () => {
  test('may have requests in flight up to its limit, and further requests get too_busy', async () => {
    const { cookie } = await testApp.createSession();
    const requests = sendHeld(cookie, 6);
    const first = await Promise.race(requests);
    const text = expect.stringContaining('"too_busy"');
    expect(first).toMatchObject({ status: 503, retryAfter: '1', text });
    await respondToAll();
    const statuses = (await Promise.all(requests)).map(({ status }) => status);
    expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 200, 200, 200, 200, 503]);
    expect((await request(cookie)).status).toBe(200);
  });

  test('gets at most half of the connections, so requests in other sessions do not wait', async () => {
    const [one, other] = [await testApp.createSession(), await testApp.createSession()];
    const requests = sendHeld(one.cookie, 4);
    await untilHeld(2);
    expect((await request(other.cookie)).status).toBe(200);
    expect(held).toHaveLength(2);
    await respondToAll();
    expect((await Promise.all(requests)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  });
});

test('a request that is aborted during a token refresh does not count towards the connection limit of its session', async () => {
  const refresh = createDeferred<ServerResponse>();
  const forward = testApp.intercept;
  testApp.intercept = (req, res) => {
    if (req.url?.endsWith('/token') !== true) return forward(req, res);
    refresh.resolve(res);
    return true;
  };
  const { id, cookie } = await testApp.createSession({ expiresAt: 0 });
  const aborting = new AbortController();
  const { signal } = aborting;
  const aborted = [1, 2].map(async () => request(cookie, PATH, { signal }).catch(() => 'aborted'));
  const tokenResponse = await refresh.promise;
  const other = request(cookie); // keeps the session's limits in memory
  await eventually(async () => (await requestsInFlight(testApp)) === 3);
  aborting.abort();
  expect(await Promise.all(aborted)).toEqual(['aborted', 'aborted']);
  await eventually(async () => (await requestsInFlight(testApp)) === 1);
  tokenResponse.setHeader('content-type', 'application/json').end('{"access_token":"new","expires_in":900}');
  expect((await other).status).toBe(200);
  expect((await testApp.services.store.read(id))?.record.grant.accessToken).toBe('new');
  expect((await request(cookie)).status).toBe(200);
  await eventually(async () => (await requestsInFlight(testApp)) === 0);
  testApp.intercept = forward;
});

test('a process refuses requests above its limit, even if each session sends only one', async () => {
  const sessions = await Promise.all(Array.from({ length: 11 }, async () => testApp.createSession()));
  const requests = sessions.flatMap(({ cookie }) => sendHeld(cookie, 1));
  expect(await Promise.race(requests)).toMatchObject({ status: 503 });
  await respondToAll();
  const statuses = (await Promise.all(requests)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(10);
});

test('requests outside /api/ are not counted as requests in flight', async () => {
  const sessions = [await testApp.createSession(), await testApp.createSession()] as const;
  const requests = sendHeld(sessions[0].cookie, 4);
  await untilHeld(2); // the other session's quota depends on these requests
  requests.push(...sendHeld(sessions[1].cookie, 4));
  await untilHeld(3);
  expect((await fetch(`${testApp.origin}/`)).status).toBe(200);
  expect((await request(sessions[0].cookie, '/auth/session')).text).toContain('"signedIn":true');
  await respondToAll();
  await Promise.all(requests);
});

test('requests without a session are not counted as requests in flight', async () => {
  const { cookie } = await testApp.createSession();
  const withoutSession = Array.from({ length: 20 }, async () => request('cloakroom=unknown', HELD));
  expect((await request(cookie)).status).toBe(200);
  expect(new Set((await Promise.all(withoutSession)).map(({ status }) => status))).toEqual(new Set([401]));
});
