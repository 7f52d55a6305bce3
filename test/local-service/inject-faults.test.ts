import { afterEach, describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { TOKEN_PATH, WORKSPACES_PATH } from '../support/constants.ts';
import { eventually } from '../support/eventually.ts';
import { useFixture } from '../support/fixtures.ts';
import { authorizationUrl } from '../support/local-service/cookie-browser.ts';
import { useLocalService } from '../support/local-service/fixture.ts';
import { codeFields, originOf, refreshFields, tokensOf, type ListPage } from '../support/local-service/requests.ts';

const { fixture, service } = useLocalService({ faults: true });
const second = useFixture(async () => fixture.start({ faults: true }));
afterEach(async () => {
  await request(service).delete('/_faults').expect(200);
});

const setFault = (fault: object) => request(service).post('/_faults').send(fault).expect(200);
const faultsLeft = async () =>
  ((await request(service).get('/_faults')).body as { faults: unknown[] }).faults.length;
const list = async (token: string, server = service) => server.getApi('/workspaces', token);

test('a status and a body replace the response for the given number of requests', async () => {
  const { access_token } = await service.newTokens();
  await setFault({ route: 'workspaces', fault: 'status', status: 503, body: { code: 'AWAY' }, calls: 2 });
  for (const server of [service, second]) {
    const res = await list(access_token, server);
    expect(res.status).toBe(503);
    expect(res.body).toEqual({ code: 'AWAY' });
  }
  expect((await list(access_token)).status).toBe(200);
});

test('over two processes, exactly the given number of fifty requests at once meet a fault', async () => {
  const { access_token } = await service.newTokens();
  await setFault({ route: 'workspaces', fault: 'status', status: 500, calls: 20 });
  const responses = await Promise.all(
    Array.from({ length: 50 }, async (_, index) => list(access_token, index % 2 ? service : second)),
  );
  expect(responses.filter((res) => res.status === 500)).toHaveLength(20);
});

test('a fault without a number of requests stays until it is cleared', async () => {
  const { access_token } = await service.newTokens();
  await setFault({ route: 'workspaces', fault: 'status', status: 500 });
  for (let call = 0; call < 5; call += 1) expect((await list(access_token)).status).toBe(500);
  await setFault({ route: 'workspaces', fault: 'none' });
  expect((await list(access_token)).status).toBe(200);
});

test('a body that is no JSON is text, unless a type is given', async () => {
  await setFault({ route: 'token', fault: 'status', status: 502, body: '<h1>Bad gateway</h1>', calls: 1 });
  expect((await service.postToken({})).type).toBe('text/plain');
  await setFault({ route: 'token', fault: 'status', status: 502, body: '<h1>', contentType: 'text/html' });
  const res = await service.postToken({});
  expect(res.type).toBe('text/html');
  expect(res.text).toBe('<h1>');
});

test('a late response is otherwise the usual one', async () => {
  const { access_token } = await service.newTokens();
  await setFault({ route: 'workspaces', fault: 'latency', latencyMs: 120 });
  const started = performance.now();
  const res = await list(access_token);
  expect(res.status).toBe(200);
  expect(performance.now() - started).toBeGreaterThan(118);
});

test('latency adds to any other fault', async () => {
  await setFault({ route: 'token', fault: 'rate-limit', latencyMs: 60, retryAfter: 7 });
  const started = performance.now();
  const res = await service.postToken({});
  expect(performance.now() - started).toBeGreaterThan(58);
  expect(res.status).toBe(429);
});

test('a request whose client disconnects during the latency does no work', async () => {
  const code = await service.newCode();
  await setFault({ route: 'token', fault: 'latency', latencyMs: 3_000, calls: 1 });
  const leaving = new AbortController();
  const body = new URLSearchParams(codeFields(code));
  const call = fetch(originOf(service) + TOKEN_PATH, { method: 'POST', body, signal: leaving.signal });
  call.catch(() => {}); // it is looked at below
  await eventually(async () => (await faultsLeft()) === 0);
  leaving.abort();
  await expect(call).rejects.toThrow('aborted');
  // By the time that this one is answered the other would have been, too.
  await setFault({ route: 'workspaces', fault: 'latency', latencyMs: 3_100, calls: 1 });
  await list('any-token');
  expect((await service.exchange(code)).status).toBe(200);
});

test('a 429 has Retry-After and the rate limit headers', async () => {
  await setFault({ route: 'workspaces', fault: 'rate-limit', retryAfter: 3 });
  const res = await list('any-token');
  expect(res.status).toBe(429);
  expect(res.get('retry-after')).toBe('3');
  expect(res.get('x-ratelimit-remaining')).toBe('0');
  expect(res.get('x-ratelimit-reset')).toBe(String(Math.ceil(fixture.clock.time / 1_000) + 3));
  expect(res.body).toEqual({ code: 'TOO_MANY_REQUESTS', message: expect.any(String), details: [] });
});

test('a connection reset before the work leaves the code unused', async () => {
  const code = await service.newCode();
  await setFault({ route: 'token', fault: 'reset-before', calls: 1 });
  await expect(service.exchange(code)).rejects.toMatchObject({ code: 'ECONNRESET' });
  expect((await service.exchange(code)).status).toBe(200);
});

test('a connection reset after the work leaves the code used', async () => {
  const code = await service.newCode();
  await setFault({ route: 'token', fault: 'reset-after', calls: 1 });
  await expect(service.exchange(code)).rejects.toMatchObject({ code: 'ECONNRESET' });
  expect((await service.exchange(code)).body).toMatchObject({ error: 'invalid_grant' });
});

test('a response that is cut off has its headers and half its body', async () => {
  const { access_token } = await service.newTokens();
  const whole = Buffer.from((await list(access_token)).text);
  await setFault({ route: 'workspaces', fault: 'cut', calls: 1 });
  const res = await fetch(`${originOf(service)}/api/public/v1/workspaces`, {
    headers: { authorization: `Bearer ${access_token}` },
  });
  expect(res.status).toBe(200);
  const received: Uint8Array[] = [];
  await expect(collect(res, received)).rejects.toThrow(/terminated/);
  const half = Buffer.concat(received);
  // The next token differs from one answer to the other, but not in length; it stands at the end.
  expect(half).toEqual(whole.subarray(0, half.length));
  expect(Math.abs(whole.length - 2 * half.length)).toBeLessThanOrEqual(1);
  expect(res.headers.get('content-length')).toBe(String(whole.length));
});

async function collect(res: Response, chunks: Uint8Array[]): Promise<void> {
  for await (const chunk of res.body ?? []) chunks.push(chunk as Uint8Array);
}

describe('revoked tokens', () => {
  test('an access token alone is revoked: its refresh token gives another', async () => {
    const { access_token, refresh_token } = await service.newTokens();
    await setFault({ route: 'workspaces', fault: 'access-token-revoked', calls: 1 });
    const res = await list(access_token);
    expect(res.status).toBe(401);
    expect(res.body).toMatchObject({ code: 'TOKEN_REVOKED' });
    const refreshed = tokensOf(await service.refresh(refresh_token));
    expect((await list(refreshed.access_token)).status).toBe(200);
    expect((await list(access_token)).status).toBe(401);
  });

  test('a grant is revoked with everything that came of it, for good', async () => {
    const { access_token, refresh_token } = await service.newTokens();
    await setFault({ route: 'any', fault: 'grant-revoked', calls: 1 });
    expect((await list(access_token)).body).toMatchObject({ code: 'TOKEN_REVOKED' });
    expect((await service.refresh(refresh_token)).body).toMatchObject({
      error: 'invalid_grant',
    });
  });

  test('a request with no token, or an unknown token or code, does not use up the fault', async () => {
    const { access_token } = await service.newTokens();
    await setFault({ route: 'any', fault: 'grant-revoked', calls: 1 });
    expect((await list('unknown')).body).toMatchObject({ code: 'TOKEN_INVALID' });
    await request(service).get(WORKSPACES_PATH).expect(401);
    await service.postToken({ grant_type: 'refresh_token' }).expect(401);
    await service.exchange('unknown');
    await service.refresh('unknown');
    expect((await list(access_token)).body).toMatchObject({ code: 'TOKEN_REVOKED' });
  });

  test('at the token endpoint the grant is that of the refresh token', async () => {
    const { access_token, refresh_token } = await service.newTokens();
    await setFault({ route: 'token', fault: 'grant-revoked', calls: 1 });
    const res = await service.refresh(refresh_token);
    expect(res.status).toBe(400);
    expect(res.body).toMatchObject({ error: 'invalid_grant' });
    expect((await list(access_token)).body).toMatchObject({ code: 'TOKEN_REVOKED' });
  });

  test('or that of the code', async () => {
    const code = await service.newCode();
    await setFault({ route: 'token', fault: 'grant-revoked', calls: 1 });
    expect((await service.exchange(code)).body).toMatchObject({ error: 'invalid_grant' });
    expect((await service.exchange(code)).body).toMatchObject({ error: 'invalid_grant' });
  });
});

describe('expired next tokens', () => {
  test('one request with a next token fails as after an hour; the next request succeeds', async () => {
    const { access_token } = await service.newTokens();
    const { next = '' } = (await service.getApi('/workspaces?limit=10', access_token)).body as ListPage;
    await setFault({ route: 'workspaces', fault: 'next-expired', calls: 1 });
    expect((await service.getApi('/workspaces?limit=10', access_token)).status).toBe(200);
    const res = await service.getApi(`/workspaces?limit=10&next=${next}`, access_token);
    expect(res.status).toBe(400);
    expect(res.body).toEqual({ code: 'NEXT_TOKEN_EXPIRED', message: expect.any(String), details: [] });
    await service.getApi(`/workspaces?limit=10&next=${next}`, access_token).expect(200);
  });

  test('an invalid next token is refused as invalid', async () => {
    const { access_token } = await service.newTokens();
    await setFault({ route: 'workspaces', fault: 'next-expired' });
    const res = await service.getApi('/workspaces?next=made-up', access_token);
    expect(res.body).toMatchObject({ code: 'PAGINATION_INVALID' });
    await request(service).get('/api/public/v1/workspaces?next=x').expect(401);
  });
});

describe('a fault of any route leaves other requests alone', () => {
  test('expired next tokens concern lists only', async () => {
    const { access_token } = await service.newTokens();
    const { value } = (await list(access_token)).body as ListPage;
    await setFault({ route: 'any', fault: 'next-expired', calls: 1 });
    await service.getApi(`/workspaces/${String(value[0]?.['id'])}?next=x`, access_token).expect(200);
    await request(service).get(`${authorizationUrl()}&next=x`).expect(200);
    expect(await faultsLeft()).toBe(1);
  });

  test('a revoked grant concerns API requests only', async () => {
    const { access_token } = await service.newTokens();
    await setFault({ route: 'any', fault: 'grant-revoked', calls: 1 });
    await request(service).get(authorizationUrl()).set('authorization', `Bearer ${access_token}`).expect(200);
    expect(await faultsLeft()).toBe(1);
    expect((await list(access_token)).body).toMatchObject({ code: 'TOKEN_REVOKED' });
  });
});

test('the fault of a route takes precedence over that of any route', async () => {
  await setFault({ route: 'any', fault: 'status', status: 500 });
  await setFault({ route: 'workspaces', fault: 'status', status: 418, calls: 1 });
  expect((await list('any-token')).status).toBe(418);
  expect((await list('any-token')).status).toBe(500);
  expect((await request(service).get(authorizationUrl())).status).toBe(500);
});

test('a path outside the interface meets no fault', async () => {
  await setFault({ route: 'any', fault: 'reset-before' });
  await request(service).get('/healthz').expect(200);
  await request(service).get('/').expect(200);
  await request(service).get('/api/public/v1/nowhere').expect(404);
});

test('without LOCAL_SERVICE_FAULTS, faults in Redis do nothing and no client can set one', async () => {
  const { access_token } = await service.newTokens();
  await setFault({ route: 'any', fault: 'status', status: 500 });
  const plain = await fixture.start();
  expect((await list(access_token, plain)).status).toBe(200);
  await request(plain).get('/_faults').expect(404);
  await request(plain).post('/_faults').send({ fault: 'none' }).expect(404);
});

test('a request with an unreadable body meets faults, and one whose body a fault reads is refused as usual', async () => {
  const large = { ...refreshFields('x'), filler: 'x'.repeat(20_000) };
  await setFault({ route: 'token', fault: 'status', status: 503, calls: 1 });
  expect((await service.postToken(large)).status).toBe(503);
  await setFault({ route: 'token', fault: 'grant-revoked', calls: 1 });
  expect((await service.postToken(large)).body).toMatchObject({ error: 'invalid_request' });
});

test('a fault reaches the compatibility mode’s paths too', async () => {
  const compat = await fixture.start({ faults: true, compat: true });
  await setFault({ route: 'token', fault: 'status', status: 500, calls: 1 });
  await request(compat).post('/api/public/v1/authorization/oauth2/refresh').expect(500);
});
