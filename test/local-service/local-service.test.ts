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
import { apiRefusal, outcomeOf } from '../support/local-service/expectations.ts';
import { useLocalService } from '../support/local-service/fixture.ts';
import { PKCE, VERIFIER, tokensOf } from '../support/local-service/requests.ts';

const { fixture, service } = useLocalService();
beforeEach(async () => {
  if (fixture.redis.status === 'end') await fixture.redis.connect();
  await fixture.redis.flushall();
});

test('the service serves the front page, its stylesheet and /healthz', async () => {
  const front = await request(service).get('/').expect(200);
  expect(front.text).toContain('The local service is running');
  expect((await request(service).get('/local-service.css').expect(200)).type).toBe('text/css');
  expect((await request(service).get('/healthz')).body).toEqual({ status: 'ok' });
});

test('an unknown path gets an error page outside the API and a JSON error inside it', async () => {
  const outside = await request(service).get('/nowhere');
  expect([outside.status, outside.type]).toEqual([404, 'text/html']);
  expect(outside.text.match(/There is nothing at this path/g)).toHaveLength(2); // in the title and the heading
  const inside = await request(service).get('/api/nowhere');
  expect(outcomeOf(inside)).toEqual(apiRefusal(404, 'PATH_NOT_FOUND'));
});

test('If-None-Match does not affect a response without a validator', async () => {
  for (const path of ['/', '/healthz']) {
    await request(service).get(path).set('if-none-match', '*').expect(200);
  }
});

test('every response has a request id', async () => {
  for (const path of ['/', '/nowhere', WORKSPACES_PATH]) {
    expect((await request(service).get(path)).get('x-request-id')).toMatch(/^[\da-f-]{36}$/);
  }
});

/** Disconnects the service from Redis until the test reconnects the service or the next test begins. */
async function loseRedis(): Promise<void> {
  const ended = once(fixture.redis, 'end');
  fixture.redis.disconnect();
  await ended;
}

/** Signs in, exchanges the code, refreshes and reads a list. Resolves with every secret that was issued. */
async function useEverything(): Promise<string[]> {
  const browser = openBrowser(service);
  const code = (await signInAndAllow(browser, authorizationUrl(PKCE))).get('code') ?? '';
  const tokens = tokensOf(await service.exchange(code, { code_verifier: VERIFIER }));
  const refreshed = tokensOf(await service.refresh(tokens.refresh_token));
  const [page] = await service.readPages('/workspaces', refreshed.access_token);
  await service.getApi('/workspaces', 'not-a-token');
  const cookie = (await browser.jar.serialize()).cookies[0]?.value ?? '';
  const { access_token, refresh_token } = tokens;
  const unused = await service.newCode();
  return [code, access_token, refresh_token, refreshed.access_token, page?.next ?? '', cookie, unused];
}

test('two processes that use the same Redis share sign-ins', async () => {
  const browser = openBrowser(service);
  await signInAndAllow(browser);
  const elsewhere = await copyCookies(browser.jar, openBrowser(await fixture.start()));
  expect((await elsewhere.get(authorizationUrl())).text).toContain('value="allow"');
});

test('Redis stores codes, tokens and cookies only as hashes, and every key has the prefix and a time to live', async () => {
  const secrets = await useEverything();
  const keys = await fixture.redis.keys('*');
  expect(keys.length).toBeGreaterThan(6);
  const values = await Promise.all(keys.map((key) => fixture.redis.get(key)));
  const everything = JSON.stringify([keys, values]);
  for (const secret of secrets) {
    expect(secret).toMatch(/.{20}/);
    expect(everything).not.toContain(secret);
  }
  for (const key of keys) {
    expect(key).toMatch(/^local-service:/);
    expect(await fixture.redis.ttl(key)).toBeGreaterThan(0);
  }
});

test('a log line contains the method, path and status, but no secret or query value', async () => {
  const secrets = await useEverything();
  const lines = fixture.logged.join('');
  for (const secret of [...secrets, VERIFIER, CLIENT_SECRET, 'a+state', 'next=', '?']) {
    expect(lines).not.toContain(secret);
  }
  expect(fixture.logged.map((line) => JSON.parse(line) as object)).toContainEqual(
    expect.objectContaining({ method: 'GET', path: WORKSPACES_PATH, status: 401 }),
  );
});

test('a refresh restarts the idle timeout of the refresh token and its grant', async () => {
  const { refresh_token } = await service.newTokens();
  const keys = ['grant', 'refresh'].map((kind) => fixture.redis.keys(`local-service:${kind}:*`));
  const lasting = (await Promise.all(keys)).flat();
  for (const key of lasting) await fixture.redis.expire(key, 100);
  await service.refresh(refresh_token);
  for (const key of lasting) expect(await fixture.redis.ttl(key)).toBeGreaterThan(7_000_000);
  expect(lasting).toHaveLength(2);
});

test('while Redis is down, an API request gets a 503 in JSON instead of a 401', async () => {
  const { access_token } = await service.newTokens();
  await loseRedis();
  const res = await service.getApi('/workspaces', access_token);
  expect(outcomeOf(res)).toEqual(apiRefusal(503, 'INTERNAL_SERVER_ERROR'));
  expect(res.get('retry-after')).toBe('2');
});

test('while Redis is down, a token request gets a 503 without an OAuth error', async () => {
  const { refresh_token } = await service.newTokens();
  const code = await service.newCode();
  await loseRedis();
  for (const res of [await service.refresh(refresh_token), await service.exchange(code)]) {
    expect(outcomeOf(res)).toEqual(apiRefusal(503, 'INTERNAL_SERVER_ERROR'));
  }
});

test('while Redis is down, a signed-in browser gets a 503 page with a request id and a link to try again', async () => {
  const browser = openBrowser(service);
  await signInAndAllow(browser);
  await loseRedis();
  const res = await browser.get(authorizationUrl());
  expect(res.status).toBe(503);
  expect(res.type).toBe('text/html');
  expect(res.text).toContain(res.get('x-request-id'));
  expect(res.text).toContain(`href="${authorizationUrl().replaceAll('&', '&amp;')}">Try again</a>`);
});

test('the process stays healthy while Redis is down, and requests succeed again afterwards', async () => {
  const { access_token } = await service.newTokens();
  await loseRedis();
  expect((await service.getApi('/workspaces', access_token)).status).toBe(503);
  expect((await request(service).get('/healthz')).status).toBe(200);
  await fixture.redis.connect();
  expect((await service.getApi('/workspaces', access_token)).status).toBe(200);
});
