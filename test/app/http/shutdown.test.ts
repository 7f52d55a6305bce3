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
import { startStopwatch } from '../../support/stopwatch.ts';

const REQUEST = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n';
/** Far beyond any test. */
const LONG_MS = 60_000;

/** A server on a bound port. `listen()` starts it; its handler learns whether the drain refuses a request. */
async function createDrainable(
  handle: (req: IncomingMessage, res: ServerResponse, isRefused: boolean) => unknown,
  options: Partial<ShutdownOptions> = {},
) {
  const bound = await bindPort('127.0.0.1', 0);
  const log = createLog('silent');
  const http = new HttpServer({ log, lingerMs: LONG_MS, silenceMs: LONG_MS, ...options });
  return {
    port: bound.port,
    http,
    server: http.server,
    drain: async (withinMs: number) => http.drain(withinMs),
    listen: async () => http.listen(bound, (req, res) => void handle(req, res, http.refuses(req))),
  };
}

/** A server whose response `res` is still due, and a client that connected before the server was up. */
async function serveEarlyClient(options: Parameters<typeof createDrainable>[1] = {}) {
  const received = createDeferred<ServerResponse>();
  const { port, drain, listen } = await createDrainable((_req, res) => received.resolve(res), options);
  const client = connect(port, '127.0.0.1');
  client.write(REQUEST);
  await once(client, 'connect');
  await listen();
  return { client, drain, res: await received.promise };
}

/** Lets fake time pass, and the immediates that its timers set. */
async function pass(ms: number): Promise<void> {
  await jest.advanceTimersByTimeAsync(ms);
  await new Promise((resolve) => setImmediate(resolve));
}

test('a drain waits for the request of a client that connected before the server was up', async () => {
  const { client, drain, res } = await serveEarlyClient();
  let isOver = false;
  const drained = drain(5_000).then((inTime) => {
    isOver = true;
    return inTime;
  });
  const response = text(client);
  await new Promise((resolve) => setImmediate(resolve));
  expect(isOver).toBe(false);
  res.end('whole');
  expect(await drained).toBe(true);
  expect(await response).toMatch(/\r\nconnection: close\r\n[^]*whole$/i);
});

test('a drain destroys a connection that takes too long, and resolves with false', async () => {
  const { client, drain } = await serveEarlyClient();
  const response = text(client);
  expect(await drain(30)).toBe(false);
  expect(await response).toBe('');
});

test.each([
  ['a client', false],
  ['a load balancer', true],
])(
  'a response to %s whose head was sent before the drain ends its connection',
  async (_to, behindLoadBalancer) => {
    const { client, drain, res } = await serveEarlyClient({ behindLoadBalancer });
    res.writeHead(200, { 'content-length': '8' }).write('half');
    const [head] = (await once(client, 'data')) as [Buffer];
    expect(head.toString()).toMatch(/connection: keep-alive/i);
    const { socket } = res;
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance'] });
    try {
      const drained = drain(60_000);
      await pass(5_000); // the drain has closed all that it closes by itself
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
  },
);

test('a connection that was kept alive before the drain is closed', async () => {
  const { client, drain, res } = await serveEarlyClient();
  res.end('whole');
  const [response] = (await once(client, 'data')) as [Buffer];
  expect(response.toString()).toMatch(/connection: keep-alive/i);
  const ended = once(client, 'end');
  expect(await drain(5_000)).toBe(true);
  await ended;
});

test('a drain without connections ends at once', async () => {
  const { http, drain, listen } = await createDrainable(() => {});
  await listen();
  expect(http.isDraining).toBe(false);
  expect(await drain(5_000)).toBe(true);
  expect(http.isDraining).toBe(true);
});

test('a drain does not wait for a connection that was opened just before and stays silent', async () => {
  const { server, port, drain, listen } = await createDrainable((_req, res) => res.end('response'));
  const accepted = once(server, 'connection');
  await listen();
  const silent = connect(port, '127.0.0.1').resume();
  const ended = once(silent, 'end');
  await accepted;
  expect(await drain(5_000)).toBe(true);
  await ended;
});

test.each([
  ['sent CONNECT', 'CONNECT x:1 HTTP/1.1\r\nhost: x\r\n\r\n'],
  ['sent half of a request', 'GET /other HTTP'],
  [
    'still sends a body that has its response',
    'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 300000\r\n\r\nab',
  ],
])('a drain does not wait for a connection that %s', async (_name, bytes) => {
  const { server, port, drain, listen } = await createDrainable((_req, res) => res.end('response'));
  server.on('connect', (_req, socket) => socket.on('error', () => {}));
  const accepted = createDeferred<Socket>();
  server.once('connection', accepted.resolve);
  await listen();
  const client = connect(port, '127.0.0.1');
  client.on('error', () => {}); // it may be a reset
  client.write(REQUEST);
  await once(client, 'data');
  client.write(bytes);
  const { promise } = accepted;
  await eventually(async () => (await promise).bytesRead === REQUEST.length + bytes.length);
  expect(await drain(5_000)).toBe(true);
});

test('a drain does not wait for a response that was aborted while its HTTP/1.0 client left', async () => {
  const ended = createDeferred<void>();
  const { port, drain, listen } = await createDrainable((req, res) => {
    req.socket.once('end', () => {
      abortResponse(res); // while Node sends the end of our side
      ended.resolve();
    });
  });
  await listen();
  const client = connect(port, '127.0.0.1').resume();
  client.end(REQUEST.replace('1.1', '1.0'));
  await ended.promise;
  expect(await drain(5_000)).toBe(true);
});

test('a request behind a response that is due is dropped, and the drain ends with that response', async () => {
  const begun: ServerResponse[] = [];
  const { server, port, drain, listen } = await createDrainable((_req, res) => begun.push(res));
  const accepted = createDeferred<Socket>();
  server.once('connection', accepted.resolve);
  await listen();
  const client = connect(port, '127.0.0.1');
  const responses = text(client);
  client.write(REQUEST);
  await eventually(async () => begun.length === 1);
  const drained = drain(5_000);
  begun[0]?.write('half');
  client.write(REQUEST);
  const { promise } = accepted;
  await eventually(async () => (await promise).bytesRead === 2 * REQUEST.length);
  begun[0]?.end(' and half');
  expect(await responses).toMatch(/connection: close[^]*half[^]* and half/i);
  expect(await drained).toBe(true);
  expect(begun).toHaveLength(1);
});

type Started = Awaited<ReturnType<typeof serve>>;

/** A server whose responses say whether the drain refuses the request. */
async function serve(behindLoadBalancer = false) {
  const drainable = await createDrainable(
    (_req, res, isRefused) => res.end(isRefused ? 'refused' : 'served'),
    { isReadinessCheck: ({ url }) => url === '/check', behindLoadBalancer },
  );
  await drainable.listen();
  return drainable;
}

/** Opens a connection that the server has accepted. */
async function open({ server, port }: Started): Promise<Socket> {
  const accepted = once(server, 'connection');
  const client = connect(port, '127.0.0.1').setEncoding('utf8');
  const entered = Promise.all([accepted, once(client, 'connect')]);
  await Promise.race([entered, once(client, 'close')]); // rejects where it is refused
  return client;
}

/** Sends a request. Resolves with its response. */
async function send(client: Socket, path = '/'): Promise<string> {
  client.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`);
  const closed = once(client, 'close').then(() => ['closed without a response']);
  const [response] = (await Promise.race([once(client, 'data'), closed])) as [string];
  return response;
}

describe('during a drain', () => {
  test('a request on an idle connection is refused, and closes it', async () => {
    const app = await serve();
    const client = await open(app);
    expect(await send(client)).toMatch(/served$/);
    const drained = app.drain(5_000);
    expect(await send(client)).toMatch(/connection: close[\s\S]*refused$/i);
    expect(await drained).toBe(true);
  });

  test('a request that arrived while the process stalled gets a response, however long the stall', async () => {
    const app = await serve();
    const client = await open(app);
    expect(await send(client)).toMatch(/served$/);
    const drained = app.drain(5_000);
    const response = send(client);
    blockEventLoop(1_000);
    expect(await response).toMatch(/connection: close[\s\S]*refused$/i);
    expect(await drained).toBe(true);
  });

  test('the first request on a new connection is served, and closes it', async () => {
    const app = await serve();
    const client = await open(app);
    const drained = app.drain(5_000);
    expect(await send(client)).toMatch(/connection: close[\s\S]*served$/i);
    expect(await drained).toBe(true);
  });

  test('the response to a request in progress closes its connection', async () => {
    const app = await serve();
    const client = await open(app);
    app.server.prependOnceListener('request', () => void app.drain(5_000));
    expect(await send(client)).toMatch(/connection: close/i);
    await once(client, 'close');
  });

  test('a load balancer gets no 503 on an idle connection: that closes at once', async () => {
    const app = await serve(true);
    const client = await open(app);
    await send(client);
    let heard = '';
    client.on('data', (chunk: string) => (heard += chunk)).on('error', () => {}); // it may be a reset
    const closed = new Promise((resolve) => client.once('close', resolve));
    const drained = app.drain(5_000);
    client.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await closed;
    expect(heard).toBe('');
    expect(await drained).toBe(true);
  });
});

describe('a load balancer', () => {
  /** Moves the clock of this process; its timers go on as before. */
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

  const checkEvery = async (app: Started, ms: number) => {
    for (let times = 0; times < 3; times += 1) {
      advance(ms);
      const checker = await open(app);
      await send(checker, '/check');
      checker.destroy();
    }
  };

  test('that polls readiness finds new connections accepted until a check has its response, and no longer', async () => {
    const app = await serve(true);
    await checkEvery(app, 5_000);
    using watch = startStopwatch();
    const drained = app.drain(60_000);
    expect(await send(await open(app))).toMatch(/connection: close[\s\S]*served$/i);
    await send(await open(app), '/check');
    expect(await drained).toBe(true);
    expect(watch.ms()).toBeLessThan(10_000);
    await expect(open(app)).rejects.toThrow('ECONNREFUSED');
  });

  /** Sends requests through a drain until one is refused. Measures how long that took, and the longest time between two. */
  const sendThroughDrain = async () => {
    const app = await serve(true);
    await checkEvery(app, 150);
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

  test('that still sends requests finds connections accepted for a third of the drain', async () => {
    let seen = await sendThroughDrain();
    // Where this machine stalled, no requests came for so long that a drain may end.
    for (let times = 1; seen.pauseMs > 300 && times < 10; times += 1) seen = await sendThroughDrain();
    expect(seen.pauseMs).toBeLessThanOrEqual(300);
    // Without the requests it would have ended after the check that is due, and half a second.
    expect(seen.ms).toBeGreaterThan(950);
    expect(seen.stopwatchMs).toBeLessThan(2_500);
    expect(seen.inTime).toBe(true);
  });

  test('is not recognised by a single check', async () => {
    const app = await serve(true);
    await send(await open(app), '/check');
    const drained = app.drain(10_000);
    await expect(open(app)).rejects.toThrow('ECONNREFUSED');
    expect(await drained).toBe(true);
  });
});
