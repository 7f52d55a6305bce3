import { once } from 'node:events';
import { beforeEach, expect, test } from '@jest/globals';
import request from 'supertest';
import { CLIENT_SECRET, WORKSPACES_PATH } from '../support/constants.ts';
import {
  authorizationUrl,
  copyCookies,
  openBrowser,
  signInAndAllow,
} from '../support/local-service/cookie-browser.ts';
import { useLocalService } from '../support/local-service/fixture.ts';
import { PKCE, VERIFIER, codeFields, refreshFields, tokensOf } from '../support/local-service/requests.ts';

const { fixture, service } = useLocalService();
beforeEach(async () => {
  if (fixture.redis.status === 'end') await fixture.redis.connect();
  await fixture.redis.flushall();
});

test('the front page says what this is', async () => {
  const res = await request(service).get('/');
  expect(res.status).toBe(200);
  expect(res.text).toContain('The local service is running');
});

test('the pages’ stylesheet is served', async () => {
  const res = await request(service).get('/local-service.css');
  expect(res.status).toBe(200);
  expect(res.type).toBe('text/css');
});

test('/healthz says that the process is healthy', async () => {
  expect((await request(service).get('/healthz')).body).toEqual({ status: 'ok' });
});

test('an unknown path is a page outside the API, and JSON inside it', async () => {
  const outside = await request(service).get('/nowhere');
  expect([outside.status, outside.type]).toEqual([404, 'text/html']);
  expect(outside.text.match(/There is nothing at this path/g)).toHaveLength(2); // its title and its heading
  const inside = await request(service).get('/api/nowhere');
  expect([inside.status, inside.type]).toEqual([404, 'application/json']);
});

test('a response without a validator ignores If-None-Match', async () => {
  for (const path of ['/', '/healthz']) {
    expect((await request(service).get(path).set('if-none-match', '*')).status).toBe(200);
  }
});

test('every response has a request id', async () => {
  for (const path of ['/', '/nowhere', WORKSPACES_PATH]) {
    expect((await request(service).get(path)).get('x-request-id')).toMatch(/^[\da-f-]{36}$/);
  }
});

/** Redis stays down until the next test, or until a test connects again. */
async function loseRedis(): Promise<void> {
  const ended = once(fixture.redis, 'end');
  fixture.redis.disconnect();
  await ended;
}

/** Everything that has a secret in it, used once. */
async function useEverything() {
  const browser = openBrowser(service);
  const code = (await signInAndAllow(browser, authorizationUrl(PKCE))).get('code') ?? '';
  const fields = codeFields(code, { code_verifier: VERIFIER });
  const tokens = tokensOf(await service.postToken(fields));
  const refreshed = tokensOf(await service.refresh(tokens.refresh_token));
  const [page] = await service.readPages('/workspaces', refreshed.access_token);
  await service.getApi('/workspaces', 'not-a-token');
  const cookie = (await browser.jar.serialize()).cookies[0]?.value ?? '';
  const secrets = [
    code,
    tokens.access_token,
    tokens.refresh_token,
    refreshed.access_token,
    page?.next ?? '',
    cookie,
  ];
  return { secrets, unspentCode: await service.newCode() };
}

test('what was issued before a restart works after it', async () => {
  const before = await fixture.start();
  const tokens = await before.newTokens();
  const code = await before.newCode();
  before.closeAllConnections();
  before.close();
  const again = await fixture.start();
  expect((await again.getApi('/workspaces', tokens.access_token)).status).toBe(200);
  expect((await again.refresh(tokens.refresh_token)).status).toBe(200);
  expect((await again.exchange(code)).status).toBe(200);
});

test('two processes on one Redis know the same sign-in', async () => {
  const browser = openBrowser(service);
  await signInAndAllow(browser);
  const elsewhere = await copyCookies(browser.jar, openBrowser(await fixture.start()));
  expect((await elsewhere.get(authorizationUrl())).text).toContain('value="allow"');
});

test('Redis holds no code, token or cookie, only hashes', async () => {
  const { secrets, unspentCode } = await useEverything();
  const keys = await fixture.redis.keys('*');
  const values = await Promise.all(keys.map((key) => fixture.redis.get(key)));
  const everything = JSON.stringify([keys, values]);
  for (const secret of [...secrets, unspentCode]) {
    expect(secret).toMatch(/.{20}/);
    expect(everything).not.toContain(secret);
  }
});

test('every key is under the service’s prefix and has a time to live', async () => {
  await useEverything();
  const keys = await fixture.redis.keys('*');
  expect(keys.length).toBeGreaterThan(6);
  for (const key of keys) {
    expect(key).toMatch(/^local-service:/);
    expect(await fixture.redis.ttl(key)).toBeGreaterThan(0);
  }
});

test('a log line has method, path and status, and no secret or query value', async () => {
  const { secrets, unspentCode } = await useEverything();
  const lines = fixture.logged.join('');
  for (const secret of [...secrets, unspentCode, VERIFIER, CLIENT_SECRET, 'a+state', 'next=', '?']) {
    expect(lines).not.toContain(secret);
  }
  expect(fixture.logged.map((line) => JSON.parse(line) as object)).toContainEqual(
    expect.objectContaining({ method: 'GET', path: WORKSPACES_PATH, status: 401 }),
  );
});

test('using a refresh token restarts its idle time, and the grant’s', async () => {
  const { refresh_token } = await service.newTokens();
  const keys = ['grant', 'refresh'].map((kind) => fixture.redis.keys(`local-service:${kind}:*`));
  const lasting = (await Promise.all(keys)).flat();
  for (const key of lasting) await fixture.redis.expire(key, 100);
  await service.refresh(refresh_token);
  for (const key of lasting) expect(await fixture.redis.ttl(key)).toBeGreaterThan(7_000_000);
  expect(lasting).toHaveLength(2);
});

test('while Redis is down an API request is a 503 in JSON, and no 401', async () => {
  const { access_token } = await service.newTokens();
  await loseRedis();
  const res = await service.getApi('/workspaces', access_token);
  expect(res.status).toBe(503);
  expect(res.body).toEqual({ code: 'INTERNAL_SERVER_ERROR', message: expect.any(String), details: [] });
  expect(res.get('retry-after')).toBe('2');
});

test('while Redis is down the token endpoint responds with 503 without an OAuth error', async () => {
  const { refresh_token } = await service.newTokens();
  const code = await service.newCode();
  await loseRedis();
  for (const fields of [refreshFields(refresh_token), codeFields(code)]) {
    const res = await service.postToken(fields);
    expect(res.status).toBe(503);
    expect(res.body).not.toHaveProperty('error');
    expect(res.get('cache-control')).toBe('no-store');
  }
});

test('while Redis is down a signed-in browser gets a 503 page with a request id and a way on', async () => {
  const browser = openBrowser(service);
  await signInAndAllow(browser);
  await loseRedis();
  const res = await browser.get(authorizationUrl());
  expect(res.status).toBe(503);
  expect(res.type).toBe('text/html');
  expect(res.text).toContain(res.get('x-request-id'));
  expect(res.text).toContain(`href="${authorizationUrl().replaceAll('&', '&amp;')}">Try again</a>`);
});

test('after Redis was down, when the process stays healthy, requests succeed again', async () => {
  const { access_token } = await service.newTokens();
  await loseRedis();
  expect((await service.getApi('/workspaces', access_token)).status).toBe(503);
  expect((await request(service).get('/healthz')).status).toBe(200);
  await fixture.redis.connect();
  expect((await service.getApi('/workspaces', access_token)).status).toBe(200);
});
