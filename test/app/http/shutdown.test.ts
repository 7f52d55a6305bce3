import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, jest, test } from '@jest/globals';
import { createDeferred } from '../../../src/promises.ts';
import { eventually } from '../../support/eventually.ts';
import { createDrainable } from './drainable-server.ts';

const REQUEST = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n';

/** A server that answers when told, on a port that somebody has connected to before it was up. */
async function serveEarlyCaller(options: Parameters<typeof createDrainable>[1] = {}) {
  const asked = createDeferred<ServerResponse>();
  const { port, drain, listen } = await createDrainable((_req, res) => asked.resolve(res), options);
  const caller = connect(port, '127.0.0.1');
  caller.write(REQUEST);
  await once(caller, 'connect');
  await listen();
  return { caller, drain, res: await asked.promise };
}

/** Lets the faked time pass, and the immediates that its timers set. */
async function pass(ms: number): Promise<void> {
  await jest.advanceTimersByTimeAsync(ms);
  await new Promise((resolve) => setImmediate(resolve));
}

test('a drain waits for the call of one who came before the server', async () => {
  const { caller, drain, res } = await serveEarlyCaller();
  let isOver = false;
  const drained = drain(5_000).then((inTime) => {
    isOver = true;
    return inTime;
  });
  const answer = text(caller);
  await new Promise((resolve) => setImmediate(resolve));
  expect(isOver).toBe(false);
  res.end('whole');
  expect(await drained).toBe(true);
  expect(await answer).toMatch(/\r\nconnection: close\r\n[^]*whole$/i);
});

test('a drain cuts off what takes too long, and says so', async () => {
  const { caller, drain } = await serveEarlyCaller();
  const answer = text(caller);
  expect(await drain(30)).toBe(false);
  expect(await answer).toBe('');
});

test.each([
  ['a client', false],
  ['a load balancer', true],
])(
  'a response to %s whose head was sent before the drain ends its connection',
  async (_to, behindLoadBalancer) => {
    const { caller, drain, res } = await serveEarlyCaller({ behindLoadBalancer });
    res.writeHead(200, { 'content-length': '8' }).write('half');
    const [head] = (await once(caller, 'data')) as [Buffer];
    expect(head.toString()).toMatch(/connection: keep-alive/i);
    const { socket } = res;
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance'] });
    try {
      const drained = drain(60_000);
      await pass(5_000); // whatever the drain closes by itself is closed
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
  const { caller, drain, res } = await serveEarlyCaller();
  res.end('whole');
  const [response] = (await once(caller, 'data')) as [Buffer];
  expect(response.toString()).toMatch(/connection: keep-alive/i);
  const ended = once(caller, 'end');
  expect(await drain(5_000)).toBe(true);
  await ended;
});

test('a drain of a server that nobody calls is over at once', async () => {
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
  ['has tunnelled', 'CONNECT x:1 HTTP/1.1\r\nhost: x\r\n\r\n'],
  ['has asked half of what it wants', 'GET /other HTTP'],
  ['still sends a body that was answered', 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 300000\r\n\r\nab'],
])('a drain does not wait for a connection that %s', async (_name, bytes) => {
  const { server, port, drain, listen } = await createDrainable((_req, res) => res.end('response'));
  server.on('connect', (_req, socket) => socket.on('error', () => {}));
  const accepted = createDeferred<Socket>();
  server.once('connection', accepted.resolve);
  await listen();
  const caller = connect(port, '127.0.0.1');
  caller.on('error', () => {}); // it may be a reset
  caller.write(REQUEST);
  await once(caller, 'data');
  caller.write(bytes);
  const { promise } = accepted;
  await eventually(async () => (await promise).bytesRead === REQUEST.length + bytes.length);
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
