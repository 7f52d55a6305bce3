import { afterEach, describe, expect, test } from '@jest/globals';
import { createDeferred } from '../../../src/promises.ts';
import { API_PATH } from '../../support/constants.ts';
import { startMetricsApp } from '../../support/metrics-app.ts';
import { useFixture } from '../../support/fixtures.ts';

const metrics = useFixture(async () => startMetricsApp());
afterEach(() => {
  metrics.testApp.intercept = () => false;
});

/** Returns the series that counts service responses with this status. */
const responses = (status: string, caller = 'gateway') =>
  `cloakroom_upstream_requests_total{caller="${caller}",status="${status}"}`;
const send = async (cookie: string, init: RequestInit = {}) => {
  const headers = { cookie, 'x-requested-with': 'test' };
  await (await fetch(metrics.testApp.origin + API_PATH, { headers, ...init })).text();
};

test('the metrics record requests by status class', async () => {
  const { testApp, expectCount } = metrics;
  const { cookie } = await testApp.createSession();
  testApp.intercept = (req, res) => Boolean(res.writeHead(req.method === 'PATCH' ? 500 : 200).end('{}'));
  for (const method of ['PUT', 'PATCH', 'PROPFIND']) await send(cookie, { method });
  await expectCount('cloakroom_requests_total{route="/api/*",status="2xx"}', 2);
  await expectCount('cloakroom_requests_total{route="/api/*",status="5xx"}', 1);
  await expectCount(responses('5xx'), 1);
});

test('a request without a response from the service is counted under the status none', async () => {
  const { testApp, expectCount, valueOf } = metrics;
  const { cookie } = await testApp.createSession();
  const before = await valueOf(responses('none'));
  testApp.intercept = (req) => Boolean(req.socket.destroy());
  await send(cookie);
  await expectCount(responses('none'), before + 1);
});

describe('a client that disconnects', () => {
  /** Sends a request and disconnects once it has reached the service. */
  const disconnect = async (path: string, init: RequestInit, cookie: string) => {
    const received = createDeferred<void>();
    metrics.testApp.intercept = () => {
      received.resolve();
      return true;
    };
    const aborting = new AbortController();
    const headers = { cookie, 'x-requested-with': 'test' };
    const signal = aborting.signal;
    const aborted = fetch(metrics.testApp.origin + path, { headers, signal, ...init }).catch(() => 'aborted');
    await received.promise;
    aborting.abort();
    expect(await aborted).toBe('aborted');
  };
  const endless = () => new ReadableStream({ start: (body) => body.enqueue(Buffer.alloc(70_000)) });
  const upload = { method: 'POST', duplex: 'half' } as RequestInit;

  test.each([
    ['before the response', 'gateway', API_PATH, () => ({})],
    ['in the middle of an upload', 'gateway', API_PATH, () => ({ ...upload, body: endless() })],
    ['while a page is waiting for the service', 'pages', '/workspaces', () => ({})],
  ])('%s is counted as aborted, not as a service failure', async (_when, caller, path, init) => {
    const { cookie } = await metrics.testApp.createSession();
    const { expectCount, valueOf } = metrics;
    const [ofAborted, ofNone] = [responses('aborted', caller), responses('none', caller)];
    const [aborted, none] = [await valueOf(ofAborted), await valueOf(ofNone)];
    await disconnect(path, init(), cookie);
    await expectCount(ofAborted, aborted + 1);
    expect(await valueOf(ofNone)).toBe(none);
  });
});

test('a repeated request is counted once, under the status of its second attempt', async () => {
  const { testApp, expectCount, valueOf } = metrics;
  const { cookie } = await testApp.createSession();
  const [refused, none] = [await valueOf(responses('4xx')), await valueOf(responses('none'))];
  testApp.intercept = (req, res) => {
    if (req.url?.endsWith('/token') === true)
      return Boolean(res.end('{"access_token":"new","expires_in":900}'));
    if (req.headers.authorization === 'Bearer new') return Boolean(req.socket.destroy());
    return Boolean(res.writeHead(401).end());
  };
  await send(cookie);
  await expectCount(responses('none'), none + 1);
  expect(await valueOf(responses('4xx'))).toBe(refused);
});

test('the metrics count gateway problems by code', async () => {
  const { expectCount } = metrics;
  await send('');
  await expectCount('cloakroom_api_problems_total{code="sign_in_required"}', 1);
});

test('the metrics port serves only metrics', async () => {
  expect((await fetch(new URL('/', metrics.url))).status).toBe(404);
  expect((await fetch(metrics.url, { method: 'POST' })).status).toBe(405);
});
