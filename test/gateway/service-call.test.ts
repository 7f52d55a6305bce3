import { once } from 'node:events';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';
import { buildConnector } from 'undici';
import { CallAbortedError } from '../../src/gateway/service-call-errors.ts';
import { callService } from '../../src/gateway/service-call.ts';
import { createDeferred } from '../../src/platform/deferred.ts';
import { RestingPool } from '../../src/platform/resting-pool.ts';

test('a call that ends while its connection is being opened is never sent, and the next one is', async () => {
  const asked: string[] = [];
  const server = createServer((req, res) => {
    asked.push(req.url ?? '');
    res.end('{}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const connect = buildConnector({});
  const isConnecting = createDeferred<void>();
  const mayConnect = createDeferred<void>();
  const pool = new RestingPool(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, 1, {
    pipelining: 1,
    connect(to, done) {
      isConnecting.resolve();
      void mayConnect.promise.then(() => connect(to, done));
    },
  });
  const ask = (target: string) => {
    const ended = createDeferred<Error | null>();
    const call = callService(pool, { method: 'GET', target, headers: [], body: null }, 10_000, {
      // What is written is dropped.
      onAnswer: (answer) => answer.deliver({ write: () => true } as unknown as ServerResponse),
      onEnd: () => ended.resolve(null),
      onFailure: (error) => ended.resolve(error),
    });
    return { call, ended: ended.promise };
  };

  const left = ask('/left');
  await isConnecting.promise;
  left.call.abort();
  expect(await left.ended).toBeInstanceOf(CallAbortedError);
  const next = ask('/next');
  mayConnect.resolve();
  expect(await next.ended).toBeNull();
  expect(asked).toEqual(['/next']);

  await pool.destroy();
  server.close();
});
