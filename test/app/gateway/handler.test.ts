import { beforeEach, describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { createApp } from '../../../src/app.ts';
import { createDeferred } from '../../../src/promises.ts';
import { API_PATH as PATH, TOKEN_PATH } from '../../support/constants.ts';
import { startTestApp } from '../../support/test-app.ts';
import { startStopwatch } from '../../support/stopwatch.ts';
import { sendRaw } from '../../support/raw.ts';
import { useTestApp } from '../../support/fixtures.ts';

const testApp = useTestApp({ MAX_BODY_BYTES: '200000' });
let cookie: string;

beforeEach(async () => {
  testApp.serviceRequests.length = 0;
  testApp.intercept = () => false;
  ({ cookie } = await testApp.createSession());
});

const api = () => request(testApp.origin);

describe('a proxied request', () => {
  test('reaches the service with the token in place of the cookie', async () => {
    testApp.intercept = (_req, res) => Boolean(res.end('{}'));
    await api().get(`${PATH}?a=%2f&b`).set('cookie', cookie).set('authorization', 'Bearer mine').expect(200);
    expect(testApp.serviceRequests).toHaveLength(1);
    const [forwarded] = testApp.serviceRequests;
    expect(forwarded?.url).toBe(`${PATH}?a=%2f&b`);
    expect(forwarded?.headers.authorization).toBe('Bearer a-living-token');
    expect(forwarded?.headers.cookie).toBeUndefined();
    expect(forwarded?.headers['via']).toBe('1.1 cloakroom');
  });

  test('works the same through Express alone', async () => {
    testApp.intercept = (_req, res) => Boolean(res.end('{}'));
    await request(createApp(testApp.services)).get(`${PATH}?x=1`).set('cookie', cookie).expect(200);
    expect(testApp.serviceRequests[0]?.url).toBe(`${PATH}?x=1`);
  });
});

describe('a problem of the gateway', () => {
  const problem = (status: number, code: string) => (response: request.Response) => {
    expect(response.headers['content-type']).toBe('application/problem+json');
    expect(response.body).toMatchObject({ status, code, requestId: response.headers['x-request-id'] });
    expect(response.headers['via']).toBeUndefined();
    expect(response.headers['server-timing']).toMatch(/^session;dur=/);
    expect(response.status).toBe(status);
  };

  test('without a cookie', async () => {
    const response = await api().get(PATH).expect(problem(401, 'sign_in_required'));
    expect(response.body.loginUrl).toBe('/auth/login');
  });

  test('for a cookie that is not signed by us', async () => {
    await api().get(PATH).set('cookie', `${cookie}x`).expect(problem(401, 'sign_in_required'));
  });

  test('for a session that has ended', async () => {
    const { id, cookie: ended } = await testApp.createSession();
    await testApp.services.store.end(id);
    const response = await api().get(PATH).set('cookie', ended).expect(problem(401, 'session_expired'));
    expect(response.body.loginUrl).toBe('/auth/login');
    expect(response.headers['set-cookie']).toBeUndefined();
  });

  test('for a path outside the API', async () => {
    await api().get('/api/other').set('cookie', cookie).expect(problem(404, 'path_not_allowed'));
    await api().get('/api').set('cookie', cookie).expect(problem(404, 'path_not_allowed'));
    await api().post(TOKEN_PATH).set('cookie', cookie).expect(problem(404, 'path_not_allowed'));
    expect(testApp.serviceRequests).toEqual([]);
  });

  test('for a target in absolute form', async () => {
    const response = await sendRaw(
      testApp,
      `GET ${testApp.origin}${PATH} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    );
    expect(response).toMatch(/^HTTP\/1.1 400 [\s\S]*"bad_request_target"/);
  });

  test('for TRACE and CONNECT', async () => {
    const trace = await sendRaw(testApp, `TRACE ${PATH} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    expect(trace).toMatch(/^HTTP\/1.1 405 [\s\S]*"method_not_allowed"/);
    expect(await sendRaw(testApp, 'TRACE / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')).toMatch(
      /^HTTP\/1.1 405 /,
    );
    expect(await sendRaw(testApp, `CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n`)).toMatch(
      /^HTTP\/1.1 405 /,
    );
  });

  test.each([
    ['with its length', (body: Buffer) => body],
    ['in chunks', (body: Buffer) => ReadableStream.from([body])],
  ])('for a body %s that is larger than MAX_BODY_BYTES, and for none that is not', async (_how, toBody) => {
    const received: number[] = [];
    testApp.intercept = (req, res) => {
      let bytes = 0;
      req.on('data', (chunk: Buffer) => (bytes += chunk.length));
      return Boolean(req.once('end', () => res.end(String(received.push(bytes)))));
    };
    const statusOf = async (bytes: number) => {
      const body = toBody(Buffer.alloc(bytes));
      const headers = { cookie, 'x-requested-with': 'test' };
      return (await fetch(testApp.origin + PATH, { method: 'POST', duplex: 'half', headers, body })).status;
    };
    expect(await statusOf(200_000)).toBe(200);
    expect(await statusOf(200_001)).toBe(413);
    expect(received).toEqual([200_000]);
  });

  test('for a body that grows too large', async () => {
    const begun = createDeferred<void>();
    testApp.intercept = (req) => {
      begun.resolve();
      return Boolean(req.resume());
    };
    async function* growing() {
      yield Buffer.alloc(70_000);
      await begun.promise; // or the service might hear of it only during the next test
      yield Buffer.alloc(200_000);
    }
    const response = await fetch(testApp.origin + PATH, {
      method: 'POST',
      duplex: 'half',
      headers: { cookie, 'x-requested-with': 'test' },
      body: ReadableStream.from(growing()),
    });
    expect(response.status).toBe(413);
  });

  test('where the service does not respond in time', async () => {
    await using impatient = await startTestApp({ SERVICE_TIMEOUT_SECONDS: '1' });
    // Each interim response starts undici's timeout anew: what ends the request is ours.
    impatient.intercept = (_req, res) => {
      const interim = setInterval(() => res.writeProcessing(), 100);
      const late = setTimeout(() => res.end('late'), 5_000);
      res.once('close', () => {
        clearInterval(interim);
        clearTimeout(late);
      });
      return true;
    };
    const entered = await impatient.createSession();
    using watch = startStopwatch();
    const began = performance.now();
    await request(impatient.origin)
      .get(PATH)
      .set('cookie', entered.cookie)
      .expect(problem(504, 'service_timeout'));
    expect(performance.now() - began).toBeGreaterThanOrEqual(990);
    expect(watch.ms()).toBeLessThan(1_400);
  });
});
