import { once } from 'node:events';
import { createServer, request as sendRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { CONTEXT } from '../../support/request-context.ts';
import { createDeferred } from '../../../src/promises.ts';
import { ConnectionPool } from '../../../src/upstream/connection-pool.ts';
import type { Session } from '../../../src/session/record.ts';
import { abortSignalOf, createApiClient } from '../../../src/workspaces/api-client.ts';
import { ok, startRawService, type RawService } from '../../support/raw-service.ts';
import { eventLoopTurns } from '../../support/event-loop.ts';

// A request occupies the only connection to the service until a test releases the connection.

let service: RawService;
let client: ConnectionPool;
let release: () => void;
let held: Promise<unknown>;
beforeEach(async () => {
  const { promise: isTaken, resolve } = createDeferred<void>();
  service = await startRawService();
  service.respond = (_request, socket) => {
    release = () => socket.write(ok());
    service.respond = () => ok('{"value":[]}');
    resolve();
    return null;
  };
  client = new ConnectionPool({ origin: service.origin, connections: 1, timeoutMs: 60_000 });
  held = client.request({ method: 'GET', path: '/held' }).then(async ({ body }) => body.dump());
  await isTaken;
});
afterEach(async () => {
  release();
  await held;
  await client.destroy();
  await service[Symbol.asyncDispose]();
});

async function readPage(timeoutSeconds: number, signal = new AbortController().signal): Promise<unknown> {
  const tokens = { accessToken: async () => 'a-token', tokenAfterUnauthorized: async () => null };
  const session = {} as Session; // the tokens above do not depend on the session
  const sessions = { read: async () => session };
  const api = createApiClient({ service: client, sessions, tokens, timeoutSeconds, now: Date.now });
  return api.createReadPage({ session, path: '/things', limit: 25, context: CONTEXT, signal })(undefined);
}

test.each([
  ['before the request starts', 0],
  ['while the request is waiting for a connection', 20],
])('a client that disconnects %s aborts the request', async (_when, after) => {
  const disconnect = new AbortController();
  const page = readPage(60, disconnect.signal);
  await eventLoopTurns(after);
  const reason = new Error('disconnected');
  disconnect.abort(reason);
  await expect(page).rejects.toBe(reason);
});

test('a request that times out before it has a connection is never sent', async () => {
  await expect(readPage(0.1)).rejects.toMatchObject({ status: 504, code: 'service_timeout' });
  release();
  expect(await readPage(60)).toMatchObject({ items: [] });
  const lines = service.requests.map(({ start }) => start);
  expect(lines).toEqual(['GET /held HTTP/1.1', 'GET /things?limit=25 HTTP/1.1']);
});

test('the abort signal for a response is already aborted if its client has disconnected', async () => {
  const signal = createDeferred<AbortSignal>();
  const server = createServer((_req, res) => {
    res.once('close', () => signal.resolve(abortSignalOf(res)));
    request.destroy();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const request = sendRequest({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' });
  request.on('error', () => {}).end();
  expect((await signal.promise).aborted).toBe(true);
  server.close();
});
