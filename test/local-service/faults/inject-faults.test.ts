import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { TOKEN_PATH, WORKSPACES_PATH } from '../../support/constants.ts';
import { eventually } from '../../support/eventually.ts';
import { useFixture } from '../../support/fixtures.ts';
import { authorizationUrl } from '../../support/local-service/cookie-browser.ts';
import {
  INVALID_GRANT,
  INVALID_REQUEST,
  TOKENS,
  apiRefusal,
  outcomeOf,
} from '../../support/local-service/expectations.ts';
import { useLocalService } from '../../support/local-service/fixture.ts';
import {
  codeFields,
  originOf,
  refreshFields,
  tokensOf,
  type ListPage,
} from '../../support/local-service/requests.ts';

const { fixture, service } = useLocalService({ faults: true });
const second = useFixture(async () => fixture.start({ faults: true }));
/** An access token for the tests that do not revoke tokens. */
let token: string;
beforeAll(async () => {
  token = (await service.newTokens()).access_token;
});
afterEach(async () => {
  await request(service).delete('/_faults').expect(200);
});

const setFault = (fault: object) => request(service).post('/_faults').send(fault).expect(200);
const faultsLeft = async () =>
  ((await request(service).get('/_faults')).body as { faults: unknown[] }).faults.length;
const list = async (accessToken = token, server = service) => server.getApi('/workspaces', accessToken);
const outcomeOfList = async (accessToken: string) => outcomeOf(await list(accessToken));
const REVOKED = apiRefusal(401, 'TOKEN_REVOKED');

test('a fault replaces the status and body for the given number of requests', async () => {
  await setFault({ route: 'workspaces', fault: 'status', status: 503, body: { code: 'AWAY' }, calls: 2 });
  for (const server of [service, second]) {
    const res = await list(token, server);
    expect(res.status).toBe(503);
    expect(res.body).toEqual({ code: 'AWAY' });
  }
  expect((await list()).status).toBe(200);
});

test('exactly the given number of concurrent requests get the fault, even across two processes', async () => {
  await setFault({ route: 'workspaces', fault: 'status', status: 500, calls: 20 });
  const responses = await Promise.all(
    Array.from({ length: 50 }, async (_, index) => list(token, index % 2 ? service : second)),
  );
  expect(responses.filter((res) => res.status === 500)).toHaveLength(20);
});

test('a fault without a number of requests stays active until it is cleared', async () => {
  await setFault({ route: 'workspaces', fault: 'status', status: 500 });
  for (let count = 0; count < 5; count += 1) expect((await list()).status).toBe(500);
  await setFault({ route: 'workspaces', fault: 'none' });
  expect((await list()).status).toBe(200);
});

test('a body that is not JSON is sent as text unless a type is given', async () => {
  await setFault({ route: 'token', fault: 'status', status: 502, body: '<h1>Bad gateway</h1>', calls: 1 });
  expect((await service.postToken({})).type).toBe('text/plain');
  await setFault({ route: 'token', fault: 'status', status: 502, body: '<h1>', contentType: 'text/html' });
  const res = await service.postToken({});
  expect(res.type).toBe('text/html');
  expect(res.text).toBe('<h1>');
});

test.each([
  ['the normal response', { fault: 'latency' }, 200],
  ['the response of another fault', { fault: 'rate-limit' }, 429],
])('a latency fault delays %s', async (_name, fault, status) => {
  await setFault({ route: 'workspaces', latencyMs: 120, ...fault });
  const started = performance.now();
  expect((await list()).status).toBe(status);
  expect(performance.now() - started).toBeGreaterThan(118);
});

test('a request is not processed if its client disconnects during the injected latency', async () => {
  const code = await service.newCode();
  await setFault({ route: 'token', fault: 'latency', latencyMs: 3_000, calls: 1 });
  const client = new AbortController();
  const body = new URLSearchParams(codeFields(code));
  const exchange = fetch(originOf(service) + TOKEN_PATH, { method: 'POST', body, signal: client.signal });
  exchange.catch(() => {}); // the rejection is checked below
  await eventually(async () => (await faultsLeft()) === 0);
  client.abort();
  await expect(exchange).rejects.toThrow('aborted');
  // Without the abort, the service would have processed the first request by the time the next response arrives.
  await setFault({ route: 'workspaces', fault: 'latency', latencyMs: 3_100, calls: 1 });
  await list();
  expect((await service.exchange(code)).status).toBe(200);
});

test('a rate-limit fault sends 429 with Retry-After and the rate limit headers', async () => {
  await setFault({ route: 'workspaces', fault: 'rate-limit', retryAfter: 3 });
  const res = await list();
  expect(outcomeOf(res)).toEqual(apiRefusal(429, 'TOO_MANY_REQUESTS'));
  expect(res.get('retry-after')).toBe('3');
  expect(res.get('x-ratelimit-remaining')).toBe('0');
  expect(res.get('x-ratelimit-reset')).toBe(String(Math.ceil(fixture.clock.time / 1_000) + 3));
});

test.each([
  ['before processing leaves the code unused', 'reset-before', TOKENS],
  ['after processing consumes the code', 'reset-after', INVALID_GRANT],
])('a connection reset %s', async (_name, fault, outcome) => {
  const code = await service.newCode();
  await setFault({ route: 'token', fault, calls: 1 });
  await expect(service.exchange(code)).rejects.toMatchObject({ code: 'ECONNRESET' });
  expect(outcomeOf(await service.exchange(code))).toEqual(outcome);
});

test('a cut fault sends the headers and half the body', async () => {
  const whole = Buffer.from((await list()).text);
  await setFault({ route: 'workspaces', fault: 'cut', calls: 1 });
  const headers = { authorization: `Bearer ${token}` };
  const res = await fetch(originOf(service) + WORKSPACES_PATH, { headers });
  expect(res.status).toBe(200);
  expect(res.headers.get('content-length')).toBe(String(whole.length));
  const received: Uint8Array[] = [];
  await expect(collect(res, received)).rejects.toThrow(/terminated/);
  const half = Buffer.concat(received);
  // The cursor at the end differs between the two responses, but has the same length.
  expect(half).toEqual(whole.subarray(0, half.length));
  expect(Math.abs(whole.length - 2 * half.length)).toBeLessThanOrEqual(1);
});

async function collect(res: Response, chunks: Uint8Array[]): Promise<void> {
  for await (const chunk of res.body ?? []) chunks.push(chunk as Uint8Array);
}

describe('revoked tokens', () => {
  test('revoking an access token leaves the refresh token valid', async () => {
    const { access_token, refresh_token } = await service.newTokens();
    await setFault({ route: 'workspaces', fault: 'access-token-revoked', calls: 1 });
    expect(await outcomeOfList(access_token)).toEqual(REVOKED);
    const refreshed = tokensOf(await service.refresh(refresh_token));
    expect((await list(refreshed.access_token)).status).toBe(200);
    expect(await outcomeOfList(access_token)).toEqual(REVOKED);
  });

  test('revoking a grant invalidates its tokens permanently', async () => {
    const { access_token, refresh_token } = await service.newTokens();
    await setFault({ route: 'any', fault: 'grant-revoked', calls: 1 });
    expect(await outcomeOfList(access_token)).toEqual(REVOKED);
    expect(outcomeOf(await service.refresh(refresh_token))).toEqual(INVALID_GRANT);
  });

  test('a request without a known token or code does not consume a grant-revoked fault', async () => {
    const { access_token } = await service.newTokens();
    await setFault({ route: 'any', fault: 'grant-revoked', calls: 1 });
    expect(await outcomeOfList('unknown')).toEqual(apiRefusal(401, 'TOKEN_INVALID'));
    await request(service).get(WORKSPACES_PATH).expect(401);
    await service.postToken({ grant_type: 'refresh_token' }).expect(401);
    await service.exchange('unknown');
    await service.refresh('unknown');
    expect(await outcomeOfList(access_token)).toEqual(REVOKED);
  });

  test('a fault during a refresh can revoke the grant of the refresh token', async () => {
    const { access_token, refresh_token } = await service.newTokens();
    await setFault({ route: 'token', fault: 'grant-revoked', calls: 1 });
    expect(outcomeOf(await service.refresh(refresh_token))).toEqual(INVALID_GRANT);
    expect(await outcomeOfList(access_token)).toEqual(REVOKED);
  });

  test('a fault during an exchange can revoke the grant of the code', async () => {
    const code = await service.newCode();
    await setFault({ route: 'token', fault: 'grant-revoked', calls: 1 });
    for (const _ of ['fault', 'afterwards'])
      expect(outcomeOf(await service.exchange(code))).toEqual(INVALID_GRANT);
  });
});

describe('expired cursors', () => {
  const EXPIRED = apiRefusal(400, 'NEXT_TOKEN_EXPIRED');

  test('a fault makes one request with a cursor fail as if an hour had passed, and the next request succeeds', async () => {
    const { next } = (await service.getApi('/workspaces?limit=10', token)).body as ListPage;
    await setFault({ route: 'workspaces', fault: 'next-expired', calls: 1 });
    await service.getApi('/workspaces?limit=10', token).expect(200);
    const res = await service.getApi(`/workspaces?limit=10&next=${next}`, token);
    expect(outcomeOf(res)).toEqual(EXPIRED);
    await service.getApi(`/workspaces?limit=10&next=${next}`, token).expect(200);
  });

  test('during a next-expired fault, an invalid cursor is still refused as invalid', async () => {
    await setFault({ route: 'workspaces', fault: 'next-expired' });
    const res = await service.getApi('/workspaces?next=made-up', token);
    expect(outcomeOf(res)).toEqual(apiRefusal(400, 'PAGINATION_INVALID'));
    await request(service).get(`${WORKSPACES_PATH}?next=x`).expect(401);
  });
});

describe('a fault for any route does not affect unrelated requests', () => {
  test('a next-expired fault affects only lists', async () => {
    const { value } = (await list()).body as ListPage;
    await setFault({ route: 'any', fault: 'next-expired', calls: 1 });
    await service.getApi(`/workspaces/${String(value[0]?.['id'])}?next=x`, token).expect(200);
    await request(service).get(`${authorizationUrl()}&next=x`).expect(200);
    expect(await faultsLeft()).toBe(1);
  });

  test('a grant-revoked fault affects only API requests and token requests', async () => {
    const { access_token } = await service.newTokens();
    await setFault({ route: 'any', fault: 'grant-revoked', calls: 1 });
    await request(service).get(authorizationUrl()).set('authorization', `Bearer ${access_token}`).expect(200);
    expect(await faultsLeft()).toBe(1);
    expect(await outcomeOfList(access_token)).toEqual(REVOKED);
  });
});

test('a fault for one route takes precedence over a fault for any route', async () => {
  await setFault({ route: 'any', fault: 'status', status: 500 });
  await setFault({ route: 'workspaces', fault: 'status', status: 418, calls: 1 });
  expect((await list()).status).toBe(418);
  expect((await list()).status).toBe(500);
  await request(service).get(authorizationUrl()).expect(500);
});

test('faults do not apply to a path outside the interface', async () => {
  await setFault({ route: 'any', fault: 'reset-before' });
  await request(service).get('/healthz').expect(200);
  await request(service).get('/').expect(200);
  await request(service).get('/api/public/v1/nowhere').expect(404);
});

test('without LOCAL_SERVICE_FAULTS, faults in Redis have no effect and clients cannot set faults', async () => {
  await setFault({ route: 'any', fault: 'status', status: 500 });
  const plain = await fixture.start();
  expect((await list(token, plain)).status).toBe(200);
  await request(plain).get('/_faults').expect(404);
  await request(plain).post('/_faults').send({ fault: 'none' }).expect(404);
});

test('an oversized request gets the fault unless the fault depends on the request body', async () => {
  const large = refreshFields('x', { filler: 'x'.repeat(20_000) });
  await setFault({ route: 'token', fault: 'status', status: 503, calls: 1 });
  expect((await service.postToken(large)).status).toBe(503);
  await setFault({ route: 'token', fault: 'grant-revoked', calls: 1 });
  expect(outcomeOf(await service.postToken(large))).toEqual(INVALID_REQUEST);
});

test('a fault also applies to the paths of compatibility mode', async () => {
  const compat = await fixture.start({ faults: true, compat: true });
  await setFault({ route: 'token', fault: 'status', status: 500, calls: 1 });
  await request(compat).post('/api/public/v1/authorization/oauth2/refresh').expect(500);
});
