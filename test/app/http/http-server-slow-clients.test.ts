import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createDeferred } from '../../../src/promises.ts';
import { API_PATH as PATH } from '../../support/constants.ts';
import { eventually } from '../../support/eventually.ts';
import { startTestApp, type TestApp, type Interceptor } from '../../support/test-app.ts';
import { openByteReader, waitForClose } from '../../support/raw-client.ts';
import { startStopwatch } from '../../support/stopwatch.ts';
import { useTestApp } from '../../support/fixtures.ts';

const BARE_408 = /^HTTP\/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n$/;
/** The first part of a long body. Once this part has arrived, the gateway starts the upstream request. */
const START = 'x'.repeat(64 * 1024);
const START_CHUNK = `10000\r\n${START}\r\n`;
/** A pause much shorter than any time limit, in ms. */
const DRIP_MS = 50;

const testApp = useTestApp({}, undefined, {
  clientHeadSeconds: 0.3,
  clientRequestSeconds: 0.7,
  checkTimeoutsMs: 50,
});
let cookie: string;
let socket: Socket;
let received: string;
let closed: Promise<unknown>;
/** Resolves once the request has ended at the service, with true if the whole body arrived. */
let arrivedWhole: Promise<boolean>;
/** Makes the service read the whole body. */
let take: Interceptor;

beforeEach(async () => {
  const { promise, resolve } = createDeferred<boolean>();
  arrivedWhole = promise;
  testApp.serviceRequests.length = 0;
  testApp.intercept = take = (req, res) => {
    req.resume().once('end', () => res.end('taken'));
    return Boolean(req.once('close', () => resolve(req.complete)));
  };
  await open(testApp);
});
afterEach(() => {
  socket.destroy();
});

async function open(at: TestApp): Promise<void> {
  ({ cookie } = await at.createSession());
  received = '';
  socket = connect(at.config.port, '127.0.0.1').setEncoding('latin1');
  socket.on('data', (part: string) => (received += part)).on('error', () => {});
  closed = new Promise((resolve) => socket.once('close', resolve));
}

/** Starts an app with a single short limit and connects to it. On a busy machine, a second short limit could be exceeded first. */
async function openOwn(limits: Parameters<typeof startTestApp>[2]): Promise<TestApp> {
  const own = await startTestApp({}, undefined, limits);
  own.intercept = take;
  socket.destroy();
  await open(own);
  return own;
}

function head(...fields: string[]): string {
  const lines = [`POST ${PATH} HTTP/1.1`, 'Host: x', `Cookie: ${cookie}`, 'X-Requested-With: x', ...fields];
  return `${lines.join('\r\n')}\r\n\r\n`;
}

/** Sends a piece repeatedly, at most `times` times, until the connection closes. */
async function drip(piece: string, times = Infinity): Promise<void> {
  for (let sent = 0; sent < times && socket.writable; sent += 1) {
    socket.write(piece);
    await Promise.race([delay(DRIP_MS), closed]);
  }
}

describe('a request head', () => {
  test('that never ends gets a 408, and the service receives no request', async () => {
    socket.write(head('A: b').slice(0, -2));
    await drip('A: b\r\n');
    await closed;
    expect(received).toMatch(BARE_408);
    expect(testApp.serviceRequests).toEqual([]);
  });

  test('that never ends gets a 408 even after an earlier request', async () => {
    socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /');
    await drip('a');
    await closed;
    expect(received).toMatch(/^HTTP\/1.1 200 [\s\S]*HTTP\/1.1 408 /);
  });

  test('that never begins makes the server close the connection', async () => {
    await closed;
    expect(received).toMatch(/^(HTTP\/1.1 408 |$)/);
  });

  test('must arrive within the time limit for a whole request', async () => {
    await using _own = await openOwn({ clientRequestSeconds: 0.3 });
    using watch = startStopwatch();
    socket.write('GET / HT');
    await closed;
    expect(watch.ms()).toBeLessThan(5_000); // limited by clientRequestSeconds, not by the 20 s for a head
    expect(received).toMatch(/^HTTP\/1.1 408 /);
  });
});

describe('a request body', () => {
  test('that arrives at a slow, steady pace reaches the service in full', async () => {
    await using _own = await openOwn({ serviceTimeoutSeconds: 1 });
    socket.write(head('Connection: close', 'Content-Length: 24'));
    await drip('x', 24); // takes longer than the silence limit
    await closed;
    expect(received).toMatch(/^HTTP\/1.1 200 [\s\S]*taken/);
    expect(await arrivedWhole).toBe(true);
  });

  test('that stalls halfway makes the gateway close the connection and abort the upstream request', async () => {
    await using _own = await openOwn({ serviceTimeoutSeconds: 0.3 });
    socket.write(`${head('Content-Length: 100000')}${START}`);
    expect(await arrivedWhole).toBe(false);
    await closed;
    expect(received).toBe('');
  });

  test.each([
    ['Content-Length: 100000000', START],
    ['Transfer-Encoding: chunked', START_CHUNK],
  ])('that trickles in gets a 408, and the upstream request is aborted (%s)', async (framing, start) => {
    socket.write(head(framing) + start);
    await drip('1\r\nx\r\n');
    await closed;
    expect(received).toMatch(BARE_408);
    expect(await arrivedWhole).toBe(false);
  });

  test('that trickles in from its first byte gets a 408, and the service receives no request', async () => {
    socket.write(head('Transfer-Encoding: chunked'));
    await drip('1\r\nx\r\n');
    await closed;
    expect(received).toMatch(BARE_408);
    expect(testApp.serviceRequests).toEqual([]);
  });

  test('that trickles in endlessly during the response makes the gateway abort the response', async () => {
    testApp.intercept = (req, res) => {
      const more = setInterval(() => res.write('more'), DRIP_MS);
      return Boolean(req.resume().once('close', () => clearInterval(more)));
    };
    socket.write(head('Transfer-Encoding: chunked') + START_CHUNK);
    await drip('1\r\nx\r\n');
    await closed;
    expect(received).toMatch(/^HTTP\/1.1 200 [\s\S]*more/);
    expect(received).not.toMatch(/\r\n0\r\n\r\n$/);
    expect(received).not.toContain('HTTP/1.1 408');
  });
});

test.each([
  ['pipelines requests', () => head().replace('POST', 'GET').repeat(2)],
  ['continues its upload', () => head('Content-Length: 50000000') + START],
])('a client that does not read its response is disconnected, even if it %s', async (_what, toRequest) => {
  await using own = await openOwn({ serviceTimeoutSeconds: 0.5 });
  const responding = createDeferred<void>();
  own.intercept = (_req, res) => {
    res.end(Buffer.alloc(50_000_000));
    responding.resolve();
    return true;
  };
  socket.pause().write(toRequest());
  await responding.promise;
  await drip('x');
  expect(await closed).toBe(true);
});

describe('an HTTP/1.0 client, which takes a closed connection for the end of the response,', () => {
  const http10 = (method: string, ...fields: string[]) =>
    head(...fields)
      .replace('POST', method)
      .replace('HTTP/1.1', 'HTTP/1.0');

  test('gets a reset if its request body trickles in endlessly during the response', async () => {
    testApp.intercept = (_req, res) => res.write('half') || true;
    const outcome = waitForClose(socket);
    socket.write(http10('POST', 'Content-Length: 100000') + START);
    await drip('x');
    expect(await outcome).toBe('ECONNRESET');
    expect(received).toMatch(/half$/);
  });

  test('gets a reset if it does not read its response', async () => {
    await using own = await openOwn({ serviceTimeoutSeconds: 0.5 });
    const responded = createDeferred<void>();
    own.intercept = (_req, res) => {
      res.write('x'); // sends the head without a Content-Length
      res.end(Buffer.alloc(50_000_000));
      return true;
    };
    own.running.server.once('request', (_req, res) => res.once('close', responded.resolve));
    const reader = openByteReader(own.config.port).pause();
    const outcome = waitForClose(reader);
    reader.write(http10('GET'));
    await responded.promise;
    reader.resume();
    expect(await outcome).toBe('ECONNRESET');
  });
});

test('the server closes an idle connection after the timeout in its Keep-Alive header', async () => {
  await using _own = await openOwn({ clientIdleSeconds: 1 });
  socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(socket, 'data');
  expect(received).toMatch(/\r\nkeep-alive: timeout=1\r\n/i);
  await closed;
  expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200']);
});

test('the idle timeout closes an idle connection, but not a connection with a response in progress', async () => {
  await using own = await openOwn({ clientIdleSeconds: 0.3, serviceTimeoutSeconds: 0.5 });
  own.intercept = (_req, res) => {
    res.write('first');
    const more = setInterval(() => res.write('more'), 100);
    return Boolean(res.once('close', () => clearInterval(more)));
  };
  socket.write(head().replace('POST', 'GET'));
  const idle = connect(own.config.port, '127.0.0.1').resume();
  idle.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(idle, 'close');
  expect(socket.closed).toBe(false);
  const before = received.split('more').length;
  await eventually(async () => received.split('more').length > before + 2);
});

test('line breaks after a response do not keep the connection open', async () => {
  await using _own = await openOwn({ clientHeadSeconds: 0.3, clientIdleSeconds: 0.3 });
  socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(socket, 'data');
  expect(received).toMatch(/^HTTP\/1.1 200 /);
  socket.write('\r\n\r\n');
  await closed;
});
