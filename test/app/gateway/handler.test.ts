import { beforeEach, describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { createDeferred } from '../../../src/promises.ts';
import { API_PATH as PATH, TOKEN_PATH } from '../../support/constants.ts';
import { startTestApp } from '../../support/test-app.ts';
import { eventually } from '../../support/eventually.ts';
import { startStopwatch } from '../../support/stopwatch.ts';
import { sendRaw } from '../../support/raw-client.ts';
import { useTestApp } from '../../support/fixtures.ts';

const testApp = useTestApp({ MAX_BODY_BYTES: '200000' });
let cookie: string;

beforeEach(async () => {
  testApp.serviceRequests.length = 0;
  testApp.intercept = () => false;
  ({ cookie } = await testApp.createSession());
});

const api = () => request(testApp.origin);
const upload = async (body: NonNullable<RequestInit['body']>) => {
  const headers = { cookie, 'x-requested-with': 'test' };
  return fetch(testApp.origin + PATH, { method: 'POST', duplex: 'half', headers, body });
};

describe('the gateway responds with a problem', () => {
  const problem = (status: number, code: string) => (response: request.Response) => {
    expect(response.headers['content-type']).toBe('application/problem+json');
    expect(response.body).toMatchObject({ status, code, requestId: response.headers['x-request-id'] });
    expect(response.headers['via']).toBeUndefined();
    expect(response.headers['server-timing']).toMatch(/^session;dur=/);
    expect(response.status).toBe(status);
  };

  test.each([
    ['to a request without a cookie', () => ({})],
    ['to a cookie with an invalid signature', () => ({ cookie: `${cookie}x` })],
  ])('%s', async (_what, toHeaders) => {
    const response = await api().get(PATH).set(toHeaders()).expect(problem(401, 'sign_in_required'));
    expect(response.body.loginUrl).toBe('/auth/login');
  });

  test('to a request whose session has ended', async () => {
    const { id, cookie: ended } = await testApp.createSession();
    await testApp.services.store.end(id);
    const response = await api().get(PATH).set('cookie', ended).expect(problem(401, 'session_expired'));
    expect(response.body.loginUrl).toBe('/auth/login');
    expect(response.headers['set-cookie']).toBeUndefined();
  });

  test('to a request for a path outside the API', async () => {
    for (const path of ['/api/other', '/api', TOKEN_PATH])
      await api().get(path).set('cookie', cookie).expect(problem(404, 'path_not_allowed'));
    expect(testApp.serviceRequests).toEqual([]);
  });

  test('to a TRACE request', async () => {
    const trace = (path: string) => `TRACE ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
    expect(await sendRaw(testApp, trace(PATH))).toMatch(/^HTTP\/1.1 405 [\s\S]*"method_not_allowed"/);
    expect(await sendRaw(testApp, trace('/'))).toMatch(/^HTTP\/1.1 405 /);
  });

  test.each([
    ['with a Content-Length', (body: Buffer) => body],
    ['in chunks', (body: Buffer) => ReadableStream.from([body])],
  ])('to a body %s over MAX_BODY_BYTES, but not to a body of exactly that size', async (_how, toBody) => {
    const received: number[] = [];
    testApp.intercept = (req, res) => {
      let bytes = 0;
      req.on('data', (chunk: Buffer) => (bytes += chunk.length));
      return Boolean(req.once('end', () => res.end(String(received.push(bytes)))));
    };
    expect((await upload(toBody(Buffer.alloc(200_000)))).status).toBe(200);
    expect((await upload(toBody(Buffer.alloc(200_001)))).status).toBe(413);
    expect(received).toEqual([200_000]);
  });

  test('to a body that exceeds the limit after its upstream request has begun', async () => {
    const begun = createDeferred<void>();
    testApp.intercept = (req) => {
      begun.resolve();
      return Boolean(req.resume());
    };
    async function* growing() {
      yield Buffer.alloc(70_000);
      await begun.promise; // otherwise the upstream request might begin during the next test
      yield Buffer.alloc(200_000);
    }
    expect((await upload(ReadableStream.from(growing()))).status).toBe(413);
  });

  test('if the service does not respond in time', async () => {
    await using shortTimeoutApp = await startTestApp({ SERVICE_TIMEOUT_SECONDS: '1' });
    // Each interim response restarts undici's timeout, so only the gateway's own timeout ends the request.
    shortTimeoutApp.intercept = (_req, res) => {
      const interim = setInterval(() => res.writeProcessing(), 100);
      const late = setTimeout(() => res.end('late'), 5_000);
      res.once('close', () => {
        clearInterval(interim);
        clearTimeout(late);
      });
      return true;
    };
    const session = await shortTimeoutApp.createSession();
    using watch = startStopwatch();
    const began = performance.now();
    const sent = request(shortTimeoutApp.origin).get(PATH).set('cookie', session.cookie);
    await sent.expect(problem(504, 'service_timeout'));
    expect(performance.now() - began).toBeGreaterThanOrEqual(990);
    expect(watch.ms()).toBeLessThan(1_400);
  });
});

const [REQUESTS, CONCURRENT] = [200, 20];
const stopService = () => (testApp.intercept = (_req, res) => Boolean(res.destroy()));
test.each([
  ['service_unreachable', {}, stopService],
  ['token_endpoint_unavailable', { expiresAt: 0 }, stopService],
  ['session_store_unavailable', {}, () => testApp.services.redis.disconnect()],
])('requests that fail with %s write a short line each and a warning a second', async (code, grant, stop) => {
  const { redis } = testApp.services;
  const create = async () => (await testApp.createSession(grant)).cookie;
  const cookies = await Promise.all(Array.from({ length: CONCURRENT }, create));
  testApp.logged.length = 0;
  const startedAt = performance.now();
  stop();
  for (let sent = 0; sent < REQUESTS; sent += CONCURRENT)
    await Promise.all(cookies.map(async (each) => api().get(PATH).set('cookie', each)));
  const lines = () => testApp.logged.filter((line) => line.includes('"msg":"request"'));
  await eventually(async () => lines().length === REQUESTS);
  const seconds = (performance.now() - startedAt) / 1_000;
  if (redis.status === 'end') await redis.connect();

  for (const line of lines()) expect(JSON.parse(line)).toMatchObject({ code, cause: expect.any(String) });
  // 1,000 failed requests a second may write 20 MB in a minute.
  expect(lines().join('').length / REQUESTS).toBeLessThan(20_000_000 / 60_000);
  const warnings = testApp.logged.filter((line) => line.includes('"level":"warn"'));
  expect(warnings.join('')).not.toContain('"stack"');
  expect(warnings.length).toBeLessThanOrEqual(2 * (2 + seconds)); // `request failed` and `token refresh failed`
});
