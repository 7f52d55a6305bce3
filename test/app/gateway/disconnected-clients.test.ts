import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { createDeferred } from '../../../src/promises.ts';
import { API_PATH as PATH } from '../../support/constants.ts';
import { startTestApp } from '../../support/test-app.ts';
import type { TestApp } from '../../support/test-app.ts';
import { eventually } from '../../support/eventually.ts';

// Whoever leaves, or never reads, leaves nothing behind: no place among the calls, no share of the connections.

let testApp: TestApp;
beforeAll(async () => {
  testApp = await startTestApp({
    SERVICE_CONNECTIONS: '2', // so that a session has one
    METRICS_PORT: '65000', // on: they tell how many calls are in flight
  });
});
afterAll(async () => testApp[Symbol.asyncDispose]());
beforeEach(() => {
  testApp.intercept = (_req, res) => Boolean(res.end('{}'));
});

async function callsInFlight({ services }: TestApp): Promise<number | undefined> {
  const gauge = await services.metrics?.registry.getSingleMetric('cloakroom_api_requests_in_flight')?.get();
  return gauge?.values[0]?.value;
}
const expectInFlight = async (count: number, at = testApp) =>
  eventually(async () => (await callsInFlight(at)) === count);

const requestText = (path: string, cookie: string) =>
  `GET ${path} HTTP/1.1\r\nHost: x\r\nCookie: ${cookie}\r\n\r\n`;

test('a call that leaves while its token is renewed takes no share of the connections', async () => {
  const renewal = createDeferred<ServerResponse>();
  testApp.intercept = (req, res) => {
    if (req.url?.endsWith('/token') === true) renewal.resolve(res);
    else res.end('{}');
    return true;
  };
  const { id, cookie } = await testApp.enter({ expiresAt: 0 });
  const leaving = new AbortController();
  const left = fetch(testApp.origin + PATH, { headers: { cookie }, signal: leaving.signal }).catch(
    () => 'left',
  );
  const answer = await renewal.promise;
  // Another call of the session keeps what is counted of it alive.
  const other = fetch(testApp.origin + PATH, { headers: { cookie } });
  await expectInFlight(2);
  leaving.abort();
  expect(await left).toBe('left');
  await expectInFlight(1);
  answer.setHeader('content-type', 'application/json').end('{"access_token":"new","expires_in":900}');
  expect((await other).status).toBe(200);
  expect((await testApp.services.store.read(id))?.record.grant.accessToken).toBe('new');
  expect((await fetch(testApp.origin + PATH, { headers: { cookie } })).status).toBe(200);
  await expectInFlight(0);
});

test('a client that never reads its response is cut off', async () => {
  await using impatient = await startTestApp({ METRICS_PORT: '65000' }, undefined, {
    serviceTimeoutSeconds: 0.5,
  });
  impatient.intercept = (_req, res) => Boolean(res.end(Buffer.alloc(64 * 1024 * 1024)));
  const { cookie } = await impatient.enter();
  const socket = connect({ port: impatient.config.port, host: '127.0.0.1' }).pause();
  socket.on('error', () => {});
  const closed = new Promise<void>((resolve) => {
    impatient.running.server.once('connection', (accepted) => accepted.once('close', () => resolve()));
  });
  socket.write(requestText(PATH, cookie));
  await closed;
  await expectInFlight(0, impatient);
  socket.destroy();
});

test('a kept connection ends when its time is up, and a call that waits longer does not', async () => {
  await using impatient = await startTestApp({}, undefined, {
    clientIdleSeconds: 0.3,
    serviceTimeoutSeconds: 0.5,
  });
  impatient.intercept = (_req, res) => {
    res.write('first'); // and then the service is silent, as an event stream is
    const more = setInterval(() => res.write('more'), 100);
    return Boolean(res.once('close', () => clearInterval(more)));
  };
  const { cookie } = await impatient.enter();
  const stream = connect(impatient.config.port, '127.0.0.1').setEncoding('latin1');
  let received = '';
  stream.on('data', (part: string) => (received += part));
  stream.write(requestText(PATH, cookie));
  const idle = connect(impatient.config.port, '127.0.0.1').resume();
  idle.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(idle, 'close');
  expect(stream.closed).toBe(false);
  const before = received.split('more').length;
  await eventually(async () => received.split('more').length > before + 2);
  stream.destroy();
});

test('line breaks behind an answer keep no connection open', async () => {
  await using impatient = await startTestApp({}, undefined, {
    clientHeadSeconds: 0.3,
    clientIdleSeconds: 0.3,
  });
  const socket = connect(impatient.config.port, '127.0.0.1').setEncoding('latin1');
  socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
  const [answer] = (await once(socket, 'data')) as [string];
  expect(answer).toMatch(/^HTTP\/1.1 200 /);
  const closed = once(socket.resume(), 'close');
  socket.write('\r\n\r\n');
  await closed;
});
