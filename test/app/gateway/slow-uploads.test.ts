import { request as httpRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, beforeEach, expect, jest, test } from '@jest/globals';
import { createRequestBody } from '../../../src/gateway/request-body.ts';
import { API_PATH as PATH, HOUR_MS } from '../../support/constants.ts';
import { startTestApp } from '../../support/test-app.ts';
import type { TestApp } from '../../support/test-app.ts';
import { eventually } from '../../support/eventually.ts';

const SESSIONS = 8;
const UPLOADS_PER_SESSION = 64;

let testApp: TestApp;
beforeAll(async () => {
  testApp = await startTestApp({ METRICS_PORT: '65000' }); // on: it tells how many requests are in flight
  testApp.intercept = (req, res) => {
    const isToken = req.url?.endsWith('/oauth2/token') === true;
    req.resume().once('end', () => res.end(isToken ? '{"access_token":"fresh"}' : 'taken'));
    return true;
  };
});
afterAll(async () => testApp[Symbol.asyncDispose]());
beforeEach(() => {
  testApp.calls.length = 0;
});

async function requestsInFlight(): Promise<number | undefined> {
  const gauge = await testApp.services.metrics?.registry
    .getSingleMetric('cloakroom_api_requests_in_flight')
    ?.get();
  return gauge?.values[0]?.value;
}

test('uploads that come a byte at a time take no connection to the service', async () => {
  const sockets: Socket[] = [];
  for (let session = 0; session < SESSIONS; session += 1) {
    const { cookie } = await testApp.enter();
    for (let upload = 0; upload < UPLOADS_PER_SESSION; upload += 1) {
      const socket = connect(testApp.config.port, '127.0.0.1').on('error', () => {});
      socket.write(
        `POST ${PATH} HTTP/1.1\r\nHost: x\r\nCookie: ${cookie}\r\nX-Requested-With: x\r\nContent-Length: 99\r\n\r\nx`,
      );
      sockets.push(socket);
    }
  }
  await eventually(async () => (await requestsInFlight()) === SESSIONS * UPLOADS_PER_SESSION);
  const drip = setInterval(() => {
    for (const socket of sockets) socket.write('x');
  }, 100);
  try {
    for (let user = 0; user < 3; user += 1) {
      const { cookie } = await testApp.enter();
      const init = { method: 'POST', body: 'whole', headers: { cookie, 'x-requested-with': 'x' } };
      for (const response of [
        await fetch(testApp.origin + PATH, { headers: { cookie } }),
        await fetch(testApp.origin + PATH, init),
      ])
        expect([response.status, await response.text()]).toEqual([200, 'taken']);
    }
    expect(testApp.calls).toHaveLength(6);
  } finally {
    clearInterval(drip);
    for (const socket of sockets) socket.destroy();
  }
  await eventually(async () => (await requestsInFlight()) === 0);
});

test('a token that expires while an upload comes is refreshed before the service hears of it', async () => {
  const { cookie } = await testApp.enter();
  const upload = httpRequest(testApp.origin + PATH, {
    method: 'POST',
    headers: { cookie, 'x-requested-with': 'x', 'content-length': '2' },
  });
  upload.write('x');
  await eventually(async () => (await requestsInFlight()) === 1);
  testApp.advance(HOUR_MS);
  const status = new Promise((resolve) => {
    upload.on('response', (res: IncomingMessage) => resolve(res.resume().statusCode));
  });
  upload.end('x');
  expect(await status).toBe(200);
  testApp.advance(-HOUR_MS);
  expect(testApp.calls.map(({ url }) => url)).toEqual([expect.stringMatching(/\/oauth2\/token$/), PATH]);
  expect(testApp.calls[1]?.headers.authorization).toBe('Bearer fresh');
});

const PACE = { bytes: 1_000, periodMs: 1_000 };

function openBody() {
  const req = Object.assign(new PassThrough(), {
    headers: {},
    complete: false,
  }) as unknown as IncomingMessage;
  const { stream } = createRequestBody(req, 1e9, 600_000, PACE);
  return { req: req as unknown as PassThrough, stream };
}

test.each([
  ['less than the pace from its first byte', 0, 900, true, true],
  ['the pace from its first byte', 0, 1_100, true, false],
  ['less than the pace past its first 64 KiB', 65_536, 900, true, true],
  ['the pace past its first 64 KiB', 65_536, 1_100, true, false],
  ['less than the pace while the service does not read', 200_000, 900, false, false],
])('a body that brings %s', async (_what, bytesAtOnce, bytesEachSecond, isRead, isCutOff) => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
  try {
    const { req, stream } = openBody();
    if (isRead) stream.resume();
    if (bytesAtOnce > 0) req.write(Buffer.alloc(bytesAtOnce));
    for (let second = 0; second < 5 && !stream.destroyed; second += 1) {
      await new Promise(setImmediate);
      await jest.advanceTimersByTimeAsync(999);
      req.write(Buffer.alloc(bytesEachSecond));
      await new Promise(setImmediate);
      await jest.advanceTimersByTimeAsync(1);
    }
    expect([stream.destroyed, stream.errored?.name]).toEqual([
      isCutOff,
      isCutOff ? 'RequestAbortedError' : undefined,
    ]);
    stream.destroy();
  } finally {
    jest.useRealTimers();
  }
});
