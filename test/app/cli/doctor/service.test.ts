import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { envOf, examined } from '../../../support/doctor/doctor.ts';
import { freePort } from '../../../support/fleet/free-port.ts';
import { startDeafPort } from '../../../support/deaf-port.ts';
import { startTestApp } from '../../../support/test-app.ts';
import type { TestApp } from '../../../support/test-app.ts';
import { startTcpServer } from '../../../support/tcp-server.ts';

let testApp: TestApp;
let env: Record<string, string>;

beforeAll(async () => {
  testApp = await startTestApp();
  env = envOf(testApp);
});

beforeEach(() => {
  testApp.intercept = () => false;
});

afterAll(async () => {
  await testApp[Symbol.asyncDispose]();
});

/** The service answers all that comes in this way. */
function answering(status: number, body: string | object, headers: Record<string, string> = {}): void {
  testApp.intercept = (_req, res: ServerResponse) => {
    res.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
    return true;
  };
}

test('a service that knows the app is well in all', async () => {
  const said = await examined(env);
  const ids = [
    'reachable',
    'encryption',
    'token-endpoint',
    'credentials',
    'sign-in',
    'redirect-uri',
    'clock',
  ];
  for (const id of ids) expect(said(`service-${id}`)).toMatchObject({ id: `service-${id}`, status: 'ok' });
  expect(said('public-url')).toMatchObject({
    status: 'ok',
    detail: `Cloakroom answers at ${testApp.origin}.`,
  });
});

test('nothing is issued, and nothing is left in Redis', async () => {
  const before = await testApp.redis.dbsize();
  await examined(env);
  expect(await testApp.redis.dbsize()).toBe(before);
});

test.each([{ CLIENT_SECRET: 'a-wrong-secret' }, { CLIENT_ID: 'another-app' }])(
  '%j is a problem of the credentials',
  async (changes) => {
    const said = await examined({ ...env, ...changes });
    expect(said('service-credentials')).toMatchObject({
      status: 'problem',
      detail: expect.stringContaining('does not know the app'),
    });
    expect(said('service-token-endpoint').status).toBe('ok');
  },
);

test('a redirect URI that is not registered is a problem, with the one to register', async () => {
  const said = await examined({ ...env, PUBLIC_URL: 'https://app.example.com' });
  expect(said('service-redirect-uri')).toMatchObject({
    status: 'problem',
    remedy: expect.stringContaining('https://app.example.com/auth/callback'),
  });
});

test('scopes that the app may not ask for are a problem', async () => {
  const said = await examined({ ...env, SCOPES: 'room:read Room:Write' });
  expect(said('service-sign-in')).toMatchObject({
    status: 'problem',
    detail: expect.stringContaining('SCOPES'),
  });
  expect(said('service-redirect-uri').status).toBe('ok');
});

test.each([
  [-600_000, 'problem', '10 min behind'],
  [600_000, 'problem', '10 min ahead of'],
  [-30_000, 'warning', 'behind'],
  [30_000, 'warning', 'ahead of'],
])('a clock that is %d ms off is a %s', async (ms, status, words) => {
  const said = await examined(env, { now: () => Date.now() + ms });
  expect(said('service-clock')).toMatchObject({ status, detail: expect.stringContaining(words) });
});

test('a service without a Date tells no time', async () => {
  testApp.intercept = (_req, res) => {
    res.sendDate = false;
    return false;
  };
  expect((await examined(env))('service-clock').status).toBe('skipped');
});

test('one that says the same to everybody leaves the credentials open', async () => {
  answering(400, { error: 'invalid_grant', error_description: 'no' });
  expect((await examined(env))('service-credentials')).toMatchObject({
    status: 'skipped',
    detail: expect.stringContaining('Can’t be told'),
  });
});

test('one that shows the same page to everybody leaves the redirect URI open, and says what to register', async () => {
  answering(200, '<!doctype html><title>Sign in</title>');
  expect((await examined(env))('service-redirect-uri')).toMatchObject({
    status: 'skipped',
    remedy: `Register exactly this at the service: ${testApp.origin}/auth/callback`,
  });
});

test('one that sends browsers to any address is a warning', async () => {
  testApp.intercept = (req, res) => {
    const uri = new URL(req.url ?? '', testApp.serviceOrigin).searchParams.get('redirect_uri');
    if (uri === null) return false;
    res.writeHead(302, { location: `${uri}?error=access_denied` }).end();
    return true;
  };
  expect((await examined(env))('service-redirect-uri')).toMatchObject({
    status: 'warning',
    detail: 'The service sends browsers back to any address at all.',
  });
});

test('one that gives no refresh tokens is a problem', async () => {
  answering(400, { error: 'unsupported_grant_type' });
  expect((await examined(env))('service-credentials').status).toBe('problem');
});

test('an outage of the service is told as one, not as our mistake', async () => {
  answering(503, 'Service Unavailable');
  const said = await examined(env);
  expect(said('service-token-endpoint')).toMatchObject({
    status: 'problem',
    detail: expect.stringContaining('503'),
  });
  expect(said('service-sign-in')).toMatchObject({
    status: 'problem',
    detail: expect.stringContaining('503'),
  });
  expect(said('service-credentials').status).toBe('skipped');
  expect(said('service-redirect-uri').status).toBe('skipped');
});

test('an OAuth error is one at any status', async () => {
  answering(500, { error: 'invalid_client' });
  const said = await examined(env);
  expect(said('service-token-endpoint').status).toBe('ok');
  expect(said('service-credentials').status).toBe('problem');
});

test('an address where something else answers is a problem of SERVICE_URL', async () => {
  answering(404, 'Not Found');
  const said = await examined(env);
  for (const id of ['service-token-endpoint', 'service-sign-in']) {
    expect(said(id)).toMatchObject({ status: 'problem', remedy: expect.stringContaining('SERVICE_URL') });
  }
});

test('a service that limits us is a warning', async () => {
  answering(429, '{}');
  const said = await examined(env);
  expect(said('service-token-endpoint').status).toBe('warning');
  expect(said('service-sign-in').status).toBe('warning');
});

test('without CLIENT_SECRET the rest of the service is looked at', async () => {
  const said = await examined({ ...env, CLIENT_SECRET: '' });
  expect(said('service-credentials').status).toBe('skipped');
  expect(said('service-token-endpoint').status).toBe('ok');
  expect(said('service-redirect-uri').status).toBe('ok');
});

test('where nothing listens one line says so, and the rest is skipped', async () => {
  const SERVICE_URL = `http://127.0.0.1:${await freePort()}`;
  const said = await examined({ ...env, SERVICE_URL });
  expect(said('service-reachable')).toMatchObject({
    status: 'problem',
    detail: `${SERVICE_URL} refuses connections: nothing listens there.`,
  });
  expect(said('service-token-endpoint').status).toBe('skipped');
});

test('a port that fetch never speaks to is told', async () => {
  const said = await examined({ ...env, SERVICE_URL: 'http://127.0.0.1:6000' });
  expect(said('service-reachable')).toMatchObject({
    status: 'problem',
    remedy: expect.stringContaining('another port'),
  });
});

test('a name that nobody has is said to be one', async () => {
  const said = await examined({ ...env, SERVICE_URL: 'https://service.invalid' });
  expect(said('service-reachable').detail).toMatch(/can’t be (?:found|looked up)/);
});

test('a service that lets nobody in, or says nothing, is given up in time', async () => {
  await using deaf = await startDeafPort();
  await using silent = await startTcpServer(() => {});
  const [ofDeaf, ofSilent] = await Promise.all([
    examined({ ...env, SERVICE_URL: `http://127.0.0.1:${deaf.port}` }),
    examined({ ...env, SERVICE_URL: `http://127.0.0.1:${silent.port}` }),
  ]);
  expect(ofDeaf('service-reachable')).toMatchObject({ status: 'problem' });
  expect(ofSilent('service-reachable').detail).toContain('leaves a question without an answer');
});

test('TLS to a service that speaks none is told', async () => {
  const said = await examined({ ...env, SERVICE_URL: testApp.serviceOrigin.replace('http:', 'https:') });
  expect(said('service-reachable').detail).toContain('does not speak TLS');
});

test('http to a service elsewhere sends no secret: it is a problem, or a warning where it is allowed', async () => {
  const insecure = { ...env, SERVICE_URL: 'http://service.invalid' };
  expect((await examined(insecure))('service-reachable').status).toBe('skipped');
  const allowed = await examined({ ...insecure, ALLOW_INSECURE_SERVICE: 'true' });
  expect(allowed('service-encryption').status).toBe('warning');
});

test('somebody else at PUBLIC_URL is a warning', async () => {
  answering(200, '<h1>It works!</h1>');
  expect((await examined({ ...env, PUBLIC_URL: testApp.serviceOrigin }))('public-url').status).toBe(
    'warning',
  );
});

test('nobody at PUBLIC_URL is no warning: Cloakroom may not run yet', async () => {
  expect((await examined({ ...env, PUBLIC_URL: 'http://localhost:1' }))('public-url').status).toBe('skipped');
  answering(502, 'Bad Gateway');
  expect((await examined({ ...env, PUBLIC_URL: testApp.serviceOrigin }))('public-url').status).toBe(
    'skipped',
  );
});
