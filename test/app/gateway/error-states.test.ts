import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { Browser } from '../../support/browser.ts';
import type { Page } from '../../support/browser.ts';
import { WORKSPACES_PATH as PATH } from '../../support/constants.ts';
import { startTestApp } from '../../support/test-app.ts';
import type { TestApp } from '../../support/test-app.ts';

// What a page sees of each fault of the local service: the table of docs/api.md, row by row.

let testApp: TestApp;
let browser: Browser;
beforeAll(async () => {
  testApp = await startTestApp({ LOCAL_SERVICE_FAULTS: 'true' });
});
afterAll(async () => {
  await testApp[Symbol.asyncDispose]();
});
beforeEach(async () => {
  ({ browser } = await testApp.signIn());
  testApp.advance(60_000); // a younger token is not refreshed after a 401
});
afterEach(async () => {
  await fetch(`${testApp.serviceOrigin}/_faults`, { method: 'DELETE' });
});

async function setFault(fields: string, at = testApp): Promise<void> {
  const body = new URLSearchParams(fields);
  const answer = await fetch(`${at.serviceOrigin}/_faults`, { method: 'POST', body });
  expect(answer.status).toBe(200);
}

const call = async (query = '') => browser.fetch(testApp.origin + PATH + query);

function problemOf({ status, headers, text }: Page) {
  expect(headers.get('content-type')).toBe('application/problem+json');
  return { status, code: (JSON.parse(text) as { code: string }).code };
}

test('a status and a body come through as the service’s own', async () => {
  await setFault('route=workspaces&fault=status&status=500');
  const page = await call();
  expect(page.status).toBe(500);
  expect(page.headers.get('via')).toBe('1.1 cloakroom');
  expect(JSON.parse(page.text)).toMatchObject({ code: 'INTERNAL_SERVER_ERROR' });
});

test('a 401 for one call shows nowhere: the token is renewed and the call repeated', async () => {
  await setFault('route=workspaces&fault=status&status=401&calls=1');
  expect((await call()).status).toBe(200);
});

test('a 401 that stays comes through as the service’s own', async () => {
  await setFault('route=workspaces&fault=status&status=401');
  const page = await call();
  expect(page.status).toBe(401);
  expect(page.headers.get('via')).toBe('1.1 cloakroom');
});

test('a rate limit comes through with its Retry-After', async () => {
  await setFault('route=workspaces&fault=rate-limit&retryAfter=3');
  const page = await call();
  expect(page.status).toBe(429);
  expect(page.headers.get('retry-after')).toBe('3');
});

test.each(['reset-before', 'reset-after'])('%s is service_unreachable', async (fault) => {
  await setFault(`route=workspaces&fault=${fault}`);
  expect(problemOf(await call())).toEqual({ status: 502, code: 'service_unreachable' });
});

test('an answer that is cut breaks off here too', async () => {
  await setFault('route=workspaces&fault=cut');
  await expect(call()).rejects.toThrow('terminated');
});

test('an answer that is late beyond the patience is service_timeout', async () => {
  // In a testApp of its own: a second is short for whatever else a busy machine has to do in it.
  await using impatient = await startTestApp({ LOCAL_SERVICE_FAULTS: 'true', SERVICE_TIMEOUT_SECONDS: '1' });
  const { cookie } = await impatient.enter();
  await setFault('route=workspaces&fault=latency&latencyMs=60000', impatient);
  const page = await new Browser().fetch(impatient.origin + PATH, { headers: { cookie } });
  expect(problemOf(page)).toEqual({ status: 504, code: 'service_timeout' });
});

test('of one revoked access token a page sees nothing', async () => {
  await setFault('route=workspaces&fault=access-token-revoked&calls=1');
  expect((await call()).status).toBe(200);
});

test('a revoked grant ends the session', async () => {
  await setFault('route=workspaces&fault=grant-revoked&calls=1');
  expect(problemOf(await call())).toEqual({ status: 401, code: 'session_expired' });
});

test('a renewal that is needed and fails is token_endpoint_unavailable, and nobody is signed out', async () => {
  await setFault('route=workspaces&fault=access-token-revoked&calls=1');
  await setFault('route=token&fault=status&status=503&calls=1');
  const page = await call();
  expect(problemOf(page)).toEqual({ status: 503, code: 'token_endpoint_unavailable' });
  expect(page.headers.get('retry-after')).toMatch(/^\d+$/);
  expect(JSON.parse((await browser.fetch(`${testApp.origin}/auth/session`)).text)).toMatchObject({
    signedIn: true,
  });
});

test('an expired next token comes through as the service’s own 400', async () => {
  const { next } = JSON.parse((await call('?limit=2')).text) as { next: string };
  await setFault('route=workspaces&fault=next-expired&calls=1');
  const page = await call(`?limit=2&next=${next}`);
  expect(page.status).toBe(400);
  expect(JSON.parse(page.text)).toMatchObject({ code: 'NEXT_TOKEN_EXPIRED' });
});
