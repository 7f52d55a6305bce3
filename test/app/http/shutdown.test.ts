import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { HttpServer } from '../../../src/http/http-server.ts';
import { bindPort } from '../../../src/http/listening.ts';
import { abortResponse } from '../../../src/http/problem.ts';
import type { ShutdownOptions } from '../../../src/http/shutdown.ts';
import { createLog } from '../../../src/observability/logger.ts';
import { createDeferred } from '../../../src/promises.ts';
import { eventually } from '../../support/eventually.ts';
import { blockEventLoop } from '../../support/event-loop.ts';
import { openByteReader, waitForClose } from '../../support/raw-client.ts';
import { startStopwatch } from '../../support/stopwatch.ts';

const REQUEST = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n';
/** A duration much longer than any test, in ms. */
const LONG_MS = 60_000;

type Handle = (req: IncomingMessage, res: ServerResponse, isRefused: boolean) => unknown;
type Options = Partial<ShutdownOptions>;

/** Creates a server on a bound port. The returned `listen()` starts the server, which tells `handle` whether to refuse a request. */
async function createDrainable(handle: Handle, options: Options = {}) {
  const bound = await bindPort('127.0.0.1', 0);
  const log = createLog('silent');
  const http = new HttpServer({ log, lingerMs: LONG_MS, unreadMs: LONG_MS, ...options });
  return {
    port: bound.port,
    http,
    server: http.server,
    drain: async (withinMs = 5_000) => http.drain(withinMs),
    listen: async () => http.listen(bound, (req, res) => void handle(req, res, http.refuses(req))),
  };
}

/** Starts a server with a pending response `res` for a client that connected before the server was up. */
async function serveEarlyClient(options: Options = {}) {
  const received = createDeferred<ServerResponse>();
  const { port, drain, listen } = await createDrainable((_req, res) => received.resolve(res), options);
  const client = connect(port, '127.0.0.1');
  client.write(REQUEST);
  await once(client, 'connect');
  await listen();
  return { client, drain, res: await received.promise };
}

type Started = Awaited<ReturnType<typeof serve>>;

/** Starts a server that responds with `refused` or `served` by default. */
async function serve(
  options: Options = {},
  handle: Handle = (_req, res, isRefused) => res.end(isRefused ? 'refused' : 'served'),
) {
  const drainable = await createDrainable(handle, {
    isReadinessCheck: ({ url }) => url === '/check',
    ...options,
  });
  await drainable.listen();
  return drainable;
}
const BEHIND_LOAD_BALANCER = { behindLoadBalancer: true };

/** Opens a connection. `sendWhole` resolves once the server has read everything that was sent. */
async function open({ server, port }: Started) {
  const accepted = createDeferred<Socket>();
  server.once('connection', accepted.resolve);
  const client = connect(port, '127.0.0.1').setEncoding('utf8');
  const entered = Promise.all([accepted.promise, once(client, 'connect')]);
  await Promise.race([entered, once(client, 'close')]); // rejects if the connection is refused
  const sendWhole = async (bytes: string) => {
    client.write(bytes);
    const serverEnd = await accepted.promise;
    await eventually(async () => serverEnd.bytesRead === client.bytesWritten);
  };
  return Object.assign(client, { sendWhole });
}

/** Sends a request and resolves with the response. */
async function send(client: Socket, path = '/'): Promise<string> {
  client.write(REQUEST.replace('/', path));
  const closed = once(client, 'close').then(() => ['closed without a response']);
  const [response] = (await Promise.race([once(client, 'data'), closed])) as [string];
  return response;
}

/** Advances the fake timers and runs the immediates that they set. */
async function pass(ms: number): Promise<void> {
  await jest.advanceTimersByTimeAsync(ms);
  await new Promise((resolve) => setImmediate(resolve));
}

test('a drain waits for the response to a client that connected before the server was up', async () => {
  const { client, drain, res } = await serveEarlyClient();
  let isOver = false;
  const drained = drain().finally(() => (isOver = true));
  const response = text(client);
  await new Promise((resolve) => setImmediate(resolve));
  expect(isOver).toBe(false);
  res.end('whole');
  expect(await drained).toBe(true);
  expect(await response).toMatch(/\r\nconnection: close\r\n[^]*whole$/i);
});

test('a drain destroys connections that take too long and resolves with false', async () => {
  const { client, drain } = await serveEarlyClient();
  const response = text(client);
  expect(await drain(30)).toBe(false);
  expect(await response).toBe('');
});

test.each([
  ['an unfinished response', 'half', false],
  ['a finished response that its client does not read', Buffer.alloc(20_000_000), true],
])('a drain that times out resets an HTTP/1.0 connection with %s', async (_which, part, isFinished) => {
  const responding = createDeferred<Socket>();
  const app = await serve({}, (req, res) => {
    res.write(part); // sends the head without a Content-Length
    if (isFinished) res.end();
    responding.resolve(req.socket);
  });
  const client = openByteReader(app.port).pause();
  const outcome = waitForClose(client);
  client.write(REQUEST.replace('1.1', '1.0'));
  const serverEnd = await responding.promise;
  if (isFinished) {
    client.end();
    await once(serverEnd, 'end'); // Node closes the server's side after the response
  }
  expect(await app.drain(30)).toBe(false);
  client.resume();
  expect(await outcome).toBe('ECONNRESET');
});

test.each([
  ['a client', {}],
  ['a load balancer', BEHIND_LOAD_BALANCER],
])('the connection to %s closes after a response that began before the drain', async (_to, options) => {
  const { client, drain, res } = await serveEarlyClient(options);
  res.writeHead(200, { 'content-length': '8' }).write('half');
  const [head] = (await once(client, 'data')) as [Buffer];
  expect(head.toString()).toMatch(/connection: keep-alive/i);
  const { socket } = res;
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance'] });
  try {
    const drained = drain(LONG_MS);
    await pass(5_000); // by now the drain has closed every idle connection
    expect(socket?.writableEnded).toBe(false);
    const responded = once(res, 'close');
    res.end('done');
    await responded;
    await pass(1_000);
    expect(socket?.writableEnded).toBe(true);
    expect(await drained).toBe(true);
  } finally {
    jest.useRealTimers();
  }
});

test('a drain without connections ends immediately', async () => {
  const { http, drain } = await serve();
  expect(http.isDraining).toBe(false);
  expect(await drain()).toBe(true);
  expect(http.isDraining).toBe(true);
});

test('a drain closes idle connections, whether or not they have been used', async () => {
  const app = await serve();
  const [used, unused] = [await open(app), await open(app)];
  expect(await send(used)).toMatch(/connection: keep-alive/i);
  const ended = [used, unused].map(async (client) => once(client.resume(), 'end'));
  expect(await app.drain()).toBe(true);
  await Promise.all(ended);
});

test.each([
  ['has sent a CONNECT request', 'CONNECT x:1 HTTP/1.1\r\nhost: x\r\n\r\n'],
  ['has sent half of a request', 'GET /other HTTP'],
  [
    'is still sending a body after its response',
    'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 300000\r\n\r\nab',
  ],
])('a drain does not wait for a client that %s', async (_name, bytes) => {
  const app = await serve();
  app.server.on('connect', (_req, socket) => socket.on('error', () => {}));
  const client = await open(app);
  client.on('error', () => {}); // the close may be a reset
  await send(client);
  await client.sendWhole(bytes);
  expect(await app.drain()).toBe(true);
});

test('a drain does not wait for a response that was aborted while its HTTP/1.0 client disconnected', async () => {
  const ended = createDeferred<void>();
  const { port, drain } = await serve({}, (req, res) => {
    req.socket.once('end', () => {
      abortResponse(res); // while Node is closing the server's side
      ended.resolve();
    });
  });
  const client = connect(port, '127.0.0.1').resume();
  client.end(REQUEST.replace('1.1', '1.0'));
  await ended.promise;
  expect(await drain()).toBe(true);
});

test('a request pipelined after a pending response is dropped, and the drain ends with that response', async () => {
  const begun: ServerResponse[] = [];
  const app = await serve({}, (_req, res) => begun.push(res));
  const client = await open(app);
  const responses = text(client);
  client.write(REQUEST);
  await eventually(async () => begun.length === 1);
  const drained = app.drain();
  begun[0]?.write('half');
  await client.sendWhole(REQUEST);
  begun[0]?.end(' and half');
  expect(await responses).toMatch(/connection: close[^]*half[^]* and half/i);
  expect(await drained).toBe(true);
  expect(begun).toHaveLength(1);
});

describe('during a drain', () => {
  test.each([
    ['on an idle connection', 0],
    ['that arrives while the process stalls', 1_000],
  ])('a request %s is refused, and its connection closes', async (_which, stallMs) => {
    const app = await serve();
    const client = await open(app);
    expect(await send(client)).toMatch(/served$/);
    const drained = app.drain();
    const response = send(client);
    blockEventLoop(stallMs);
    expect(await response).toMatch(/connection: close[\s\S]*refused$/i);
    expect(await drained).toBe(true);
  });

  test('the first request on a new connection is served, and the connection closes', async () => {
    const app = await serve();
    const client = await open(app);
    const drained = app.drain();
    expect(await send(client)).toMatch(/connection: close[\s\S]*served$/i);
    expect(await drained).toBe(true);
  });

  test('the response to a request in progress closes the connection', async () => {
    const app = await serve();
    const client = await open(app);
    app.server.prependOnceListener('request', () => void app.drain());
    expect(await send(client)).toMatch(/connection: close/i);
    await once(client, 'close');
  });

  test('an idle connection from a load balancer closes immediately, without a 503', async () => {
    const app = await serve(BEHIND_LOAD_BALANCER);
    const client = await open(app);
    await send(client);
    let received = '';
    client.on('data', (chunk: string) => (received += chunk)).on('error', () => {}); // the close may be a reset
    const closed = new Promise((resolve) => client.once('close', resolve));
    const drained = app.drain();
    client.write(REQUEST);
    await closed;
    expect(received).toBe('');
    expect(await drained).toBe(true);
  });
});

describe('a load balancer', () => {
  /** Advances the clock of this process without affecting its timers. */
  let advance: (ms: number) => void;
  beforeEach(() => {
    const now = performance.now.bind(performance);
    let skew = 0;
    advance = (ms) => {
      skew += ms;
    };
    jest.spyOn(performance, 'now').mockImplementation(() => now() + skew);
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });

  /** Starts a server whose readiness a load balancer has checked three times. */
  const serveChecked = async (everyMs: number) => {
    const app = await serve(BEHIND_LOAD_BALANCER);
    for (let times = 0; times < 3; times += 1) {
      advance(everyMs);
      const checker = await open(app);
      await send(checker, '/check');
      checker.destroy();
    }
    return app;
  };

  /** Sends requests during a drain until one is refused. Measures the total time and the longest pause between requests. */
  const sendThroughDrain = async () => {
    const app = await serveChecked(150);
    const began = performance.now();
    using watch = startStopwatch();
    const drained = app.drain(3_000);
    let [sentAt, pauseMs] = [began, 0];
    const served = async () => (await send(await open(app))).endsWith('served');
    for (let goesOn = true; goesOn && watch.ms() < 20_000; await delay(20)) {
      goesOn = await served().catch(() => false);
      const now = performance.now();
      pauseMs = Math.max(pauseMs, now - sentAt);
      sentAt = now;
    }
    return { pauseMs, ms: sentAt - began, stopwatchMs: watch.ms(), inTime: await drained };
  };

  test('that keeps sending requests can still connect for a third of the drain time', async () => {
    let seen = await sendThroughDrain();
    // If this machine stalled, the pause between requests may have been long enough for the drain to end.
    for (let times = 1; seen.pauseMs > 300 && times < 10; times += 1) seen = await sendThroughDrain();
    expect(seen.pauseMs).toBeLessThanOrEqual(300);
    // Without these requests, the drain would have ended half a second after the next readiness check.
    expect(seen.ms).toBeGreaterThan(950);
    expect(seen.stopwatchMs).toBeLessThan(2_500);
    expect(seen.inTime).toBe(true);
  });

  test('is not recognised after a single readiness check', async () => {
    const app = await serve(BEHIND_LOAD_BALANCER);
    await send(await open(app), '/check');
    const drained = app.drain(10_000);
    await expect(open(app)).rejects.toThrow('ECONNREFUSED');
    expect(await drained).toBe(true);
  });
});
