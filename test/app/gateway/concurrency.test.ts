import type { ServerResponse } from 'node:http';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { createDeferred } from '../../../src/promises.ts';
import { API_PATH as PATH } from '../../support/constants.ts';
import { eventually } from '../../support/eventually.ts';
import { requestsInFlight } from '../../support/metrics-app.ts';
import { useTestApp } from '../../support/fixtures.ts';

// One user or one stuck service never takes the others down (contract, section 4: too_busy).

const STUCK = '/api/public/v1/stuck';

const testApp = useTestApp({
  MAX_REQUESTS: '10',
  MAX_REQUESTS_PER_SESSION: '5',
  SERVICE_CONNECTIONS: '4',
  METRICS_PORT: '65000', // metrics count the requests in flight
});
/** Responses that the service holds back. */
const held: ServerResponse[] = [];
beforeAll(() => {
  testApp.intercept = (req, res) => {
    if (req.url?.startsWith(STUCK) === true) held.push(res);
    else res.end('{}');
    return true;
  };
});
afterEach(async () => {
  await goOn();
  testApp.serviceRequests.length = 0;
});

const request = async (cookie: string, path = PATH, init: RequestInit = {}) => {
  const response = await fetch(testApp.origin + path, { headers: { cookie }, ...init });
  const text = await response.text();
  return { status: response.status, retryAfter: response.headers.get('retry-after'), text };
};

/** Lets the service respond to all that waits, until nothing is in flight. */
async function goOn(): Promise<void> {
  await eventually(async () => {
    for (const res of held.splice(0)) res.end('{}');
    return inFlight === 0;
  });
}
let inFlight = 0;

/** Sends requests to which the service responds only at the end. */
function stick(cookie: string, count: number): ReturnType<typeof request>[] {
  return Array.from({ length: count }, async () => {
    inFlight += 1;
    try {
      return await request(cookie, STUCK);
    } finally {
      inFlight -= 1;
    }
  });
}

/** Resolves once so many requests wait at the service. */
const stuck = async (count: number) => eventually(async () => held.length === count);

describe('a session', () => {
  test('has requests in flight up to its limit, and gets too_busy past that', async () => {
    const { cookie } = await testApp.createSession();
    const requests = stick(cookie, 6);
    const first = await Promise.race(requests);
    expect(first).toMatchObject({
      status: 503,
      retryAfter: '1',
      text: expect.stringContaining('"too_busy"'),
    });
    await goOn();
    const statuses = (await Promise.all(requests)).map(({ status }) => status);
    expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 200, 200, 200, 200, 503]);
    expect((await request(cookie)).status).toBe(200);
  });

  test('takes half of the connections: its other requests wait, and other sessions are served', async () => {
    const [one, other] = [await testApp.createSession(), await testApp.createSession()];
    const requests = stick(one.cookie, 4);
    await stuck(2);
    expect((await request(other.cookie)).status).toBe(200);
    expect(held).toHaveLength(2);
    await goOn();
    expect((await Promise.all(requests)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  });
});

test('requests that are aborted while the token is refreshed take no connection from their session', async () => {
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
  const other = request(cookie); // keeps the count of the session
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

test('a process has requests in flight up to its limit, over all sessions', async () => {
  const sessions = await Promise.all(Array.from({ length: 11 }, async () => testApp.createSession()));
  const requests = sessions.flatMap(({ cookie }) => stick(cookie, 1));
  expect(await Promise.race(requests)).toMatchObject({ status: 503 });
  await goOn();
  const statuses = (await Promise.all(requests)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(10);
});

test('pages and sign-in do not count as requests in flight', async () => {
  const sessions = [await testApp.createSession(), await testApp.createSession()] as const;
  const requests = stick(sessions[0].cookie, 4);
  await stuck(2); // what the other one may have goes by what this one has
  requests.push(...stick(sessions[1].cookie, 4));
  await stuck(3);
  expect((await fetch(`${testApp.origin}/`)).status).toBe(200);
  const session = await fetch(`${testApp.origin}/auth/session`, {
    headers: { cookie: sessions[0].cookie },
  });
  expect(await session.json()).toMatchObject({ signedIn: true });
  await goOn();
  await Promise.all(requests);
});

test('requests without a session do not count as requests in flight', async () => {
  const { cookie } = await testApp.createSession();
  const withoutSession = Array.from({ length: 20 }, async () => request('cloakroom=nobody', STUCK));
  expect((await request(cookie)).status).toBe(200);
  expect(new Set((await Promise.all(withoutSession)).map(({ status }) => status))).toEqual(new Set([401]));
});
