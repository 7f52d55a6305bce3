import { once } from 'node:events';
import { createServer } from 'node:http';
import type { RequestListener, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { buildConnector } from 'undici';
import { CallAbortedError } from '../../../src/gateway/service-call-errors.ts';
import { callService } from '../../../src/gateway/service-call.ts';
import { createDeferred } from '../../../src/promises.ts';
import { ConnectionPool } from '../../../src/upstream/connection-pool.ts';

const TIMEOUT_MS = 1_000;

/** A service, and a pool whose only connection opens once `mayConnect` is resolved. */
async function startService(answer: RequestListener) {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const connect = buildConnector({});
  const isConnecting = createDeferred<void>();
  const mayConnect = createDeferred<void>();
  const pool = new ConnectionPool({
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections: 1,
    timeoutMs: 60_000,
    connect(to, done) {
      isConnecting.resolve();
      void mayConnect.promise.then(() => connect(to, done));
    },
  });
  return {
    isConnecting,
    mayConnect,
    ask(target: string, { body = null as Readable | null, timeoutMs = TIMEOUT_MS } = {}) {
      const ended = createDeferred<Error | null>();
      const method = body === null ? 'GET' : 'POST';
      const call = callService(pool, { method, target, headers: [], body }, timeoutMs, {
        // What is written is dropped.
        onAnswer: (response) => response.deliver({ write: () => true } as unknown as ServerResponse),
        onEnd: () => ended.resolve(null),
        onFailure: (error) => ended.resolve(error),
      });
      return { call, ended: ended.promise };
    },
    async [Symbol.asyncDispose]() {
      await pool.destroy();
      server.close();
    },
  };
}

test('a call that ends while its connection is being opened is never sent, and the next one is', async () => {
  const asked: string[] = [];
  await using service = await startService((req, res) => {
    asked.push(req.url ?? '');
    res.end('{}');
  });
  const left = service.ask('/left', { timeoutMs: 10_000 });
  await service.isConnecting.promise;
  left.call.abort();
  expect(await left.ended).toBeInstanceOf(CallAbortedError);
  const next = service.ask('/next', { timeoutMs: 10_000 });
  service.mayConnect.resolve();
  expect(await next.ended).toBeNull();
  expect(asked).toEqual(['/next']);
});

test('the timeout of a response begins once the request has a connection', async () => {
  await using service = await startService((_req, res) => {
    setTimeout(() => res.end('{}'), TIMEOUT_MS * 0.6);
  });
  const waiting = service.ask('/');
  await service.isConnecting.promise;
  await delay(TIMEOUT_MS * 0.6); // a part of the input, not a wait for anything
  service.mayConnect.resolve();
  expect(await waiting.ended).toBeNull();
});

test('the timeout of a response begins again with each part of the body that is sent', async () => {
  await using service = await startService((req, res) => {
    req.resume().once('end', () => res.end('{}'));
  });
  service.mayConnect.resolve();
  async function* parts() {
    for (let part = 0; part < 4; part += 1) {
      yield Buffer.from('part');
      await delay(TIMEOUT_MS * 0.4); // a part of the input as well
    }
  }
  expect(await service.ask('/', { body: Readable.from(parts()) }).ended).toBeNull();
});
