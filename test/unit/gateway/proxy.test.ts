import type { RequestListener } from 'node:http';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { buildConnector } from 'undici';
import { Timing, type ApiRequest } from '../../../src/gateway/api-request.ts';
import { proxyRequest, sendEarly } from '../../../src/gateway/proxy.ts';
import type { TokenProvider } from '../../../src/oauth/refresh/token-provider.ts';
import { createDeferred } from '../../../src/promises.ts';
import type { Session } from '../../../src/session/record.ts';
import { ConnectionPool } from '../../../src/upstream/connection-pool.ts';
import { startHttpServer } from '../../support/http-server.ts';

const TIMEOUT_MS = 1_000;

/** Starts a service, and a pool whose only connection opens once `mayConnect` resolves. */
async function startService(respond: RequestListener) {
  const server = await startHttpServer(respond);
  const connect = buildConnector({});
  const isConnecting = createDeferred<void>();
  const mayConnect = createDeferred<void>();
  const pool = new ConnectionPool({
    origin: `http://127.0.0.1:${server.port}`,
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
    /** Sends a request to the service and discards the response. */
    send(target: string, { body = null as Readable | null, timeoutMs = TIMEOUT_MS, isEarly = false } = {}) {
      const ended = createDeferred<unknown>();
      const res = {
        hasHeader: () => false,
        getHeaderNames: () => [],
        writeHead: () => {},
        write: () => true,
        end: () => ended.resolve(null),
      };
      const request = {
        req: { method: body === null ? 'GET' : 'POST', rawHeaders: [] },
        res,
        target,
        body: body && { stream: body },
        times: new Timing(0),
        trace: null,
      } as unknown as ApiRequest;
      const fail = (_request: ApiRequest, error: unknown) => ended.resolve(error);
      const deps = { upstream: pool, tokens: {} as TokenProvider, timeoutMs, responseHeaders: [], fail };
      const early = isEarly ? sendEarly(deps, request, 'token') : null;
      if (!isEarly) proxyRequest(deps, request, {} as Session, 'token');
      return { request, early, ended: ended.promise };
    },
    async [Symbol.asyncDispose]() {
      await pool.destroy();
      await server[Symbol.asyncDispose]();
    },
  };
}

test('if a client disconnects while the upstream connection is opening, only the next request is sent', async () => {
  const sent: string[] = [];
  await using service = await startService((req, res) => {
    sent.push(req.url ?? '');
    res.end('{}');
  });
  const aborted = service.send('/aborted', { timeoutMs: 10_000 });
  await service.isConnecting.promise;
  aborted.request.upstream?.abort();
  const next = service.send('/next', { timeoutMs: 10_000 });
  service.mayConnect.resolve();
  expect(await next.ended).toBeNull();
  expect(sent).toEqual(['/next']);
});

test('an early request that times out while the upstream connection is opening is never sent', async () => {
  const sent: string[] = [];
  await using service = await startService((req, res) => {
    sent.push(req.url ?? '');
    res.end('{}');
  });
  const early = service.send('/early', { timeoutMs: 1, isEarly: true });
  await service.isConnecting.promise;
  await delay(50); // longer than the timeout
  const next = service.send('/next', { timeoutMs: 10_000 });
  service.mayConnect.resolve();
  expect(await next.ended).toBeNull();
  early.early?.onSessionRead({} as Session);
  expect(await early.ended).toMatchObject({ code: 'service_timeout' });
  expect(sent).toEqual(['/next']);
});

test('the response timeout starts once the request has a connection', async () => {
  await using service = await startService((_req, res) => {
    setTimeout(() => res.end('{}'), TIMEOUT_MS * 0.6);
  });
  const waiting = service.send('/');
  await service.isConnecting.promise;
  await delay(TIMEOUT_MS * 0.6); // the delay is part of the test input
  service.mayConnect.resolve();
  expect(await waiting.ended).toBeNull();
});

test('the response timeout restarts whenever part of the request body is sent', async () => {
  await using service = await startService((req, res) => {
    req.resume().once('end', () => res.end('{}'));
  });
  service.mayConnect.resolve();
  async function* parts() {
    for (let part = 0; part < 4; part += 1) {
      yield Buffer.from('part');
      await delay(TIMEOUT_MS * 0.4); // the delay is part of the test input
    }
  }
  expect(await service.send('/', { body: Readable.from(parts()) }).ended).toBeNull();
});
