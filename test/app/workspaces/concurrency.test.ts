import { once } from 'node:events';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import express, { type ErrorRequestHandler } from 'express';
import request from 'supertest';
import type { Session } from '../../../src/session/record.ts';
import { createConcurrencyLimiter, limitPages } from '../../../src/workspaces/concurrency.ts';
import { eventually } from '../../support/eventually.ts';
import { json } from '../../support/raw-service.ts';
import { useEmptyRedis } from './browser-app.ts';
import type { Interception } from './small-service.ts';

const start = useEmptyRedis();

/** The number of connections to the service. The pages in a session may use an eighth of these connections. */
const CONNECTIONS = 24;
const MAX_PAGES = 3;

test('a session at its limit of requests in flight may send another request once one request has ended', () => {
  const begin = createConcurrencyLimiter({ perSession: 2 });
  const [first, second] = [begin('a'), begin('a')];
  expect(begin('a')).toBeNull();
  expect(begin('b')).not.toBeNull();
  first?.();
  expect(begin('a')).not.toBeNull();
  expect(begin('a')).toBeNull();
  second?.();
  expect(begin('a')).not.toBeNull();
});

test('a session may use half of the capacity that other sessions leave free, and is always allowed two requests', () => {
  const begin = createConcurrencyLimiter({ perSession: 5, total: 12 });
  const taken = ['a', 'b', 'c', 'd', 'e'].map((session) => {
    const begun = Array.from({ length: 12 }, () => begin(session)).filter((end) => end !== null);
    return { count: begun.length, end: begun[0] };
  });
  expect(taken.map(({ count }) => count)).toEqual([5, 3, 2, 2, 2]);
  for (const { end } of taken) end?.();
  expect(begin('a')).toBeNull();
  expect(begin('e')).not.toBeNull();
});

/** Starts the workspace browser in front of a service that responds only when the test writes to the sockets in `held`. */
async function startHeld() {
  const held: Socket[] = [];
  const hold: Interception = (_request, socket) => {
    held.push(socket);
    return null;
  };
  const app = await start([], hold, { connections: CONNECTIONS });
  const open = async (session = 'a') =>
    (await request(app.server).get('/workspaces').set('x-test-session', session)).status;
  return { ...app, held, open };
}

test('a page request over its session’s limit gets a 429 until another page request finishes', async () => {
  await using app = await startHeld();
  const { held, open } = app;
  const pages = Promise.all(Array.from({ length: MAX_PAGES }, async () => open()));
  await eventually(async () => held.length === MAX_PAGES);
  const refused = await app.get('/workspaces', 429, 'a');
  expect(refused.headers['retry-after']).toBe('2');
  expect(refused.text).toContain('Too many pages at once');
  const other = open('b');
  await eventually(async () => held.length === MAX_PAGES + 1);

  for (const [at, socket] of held.splice(0).entries())
    socket.write(json(at === 0 ? 500 : 200, { value: [] }));
  expect(new Set(await pages)).toEqual(new Set([200, 502]));
  expect(await other).toBe(200);
  const again = open();
  await eventually(async () => held.length === 1);
  for (const socket of held) socket.write(json(200, { value: [] }));
  expect(await again).toBe(200);
});

test('while a few sessions use up their limits, another session may still load two pages', async () => {
  await using app = await startHeld();
  const { held, open } = app;
  const pages: Promise<number>[] = [];
  for (const session of ['a', 'a', 'a', 'b', 'b', 'b', 'c', 'c', 'c', 'd', 'd']) {
    pages.push(open(session));
    await eventually(async () => held.length === pages.length); // each quota depends on the other sessions
  }
  expect(await open('d')).toBe(429);
  for (const socket of held) socket.write(json(200, { value: [] }));
  expect(new Set(await Promise.all(pages))).toEqual(new Set([200]));
});

test('an unread page counts towards the limit until its client disconnects', async () => {
  const session = { id: 'a-session' } as Session;
  const app = express();
  app.get(
    '/',
    limitPages({ perSession: MAX_PAGES }, () => session),
    (_req, res) => {
      res.send('x'.repeat(20_000_000)); // more than socket buffers hold
    },
  );
  app.use(((_error, _req, res, _next) => res.sendStatus(429)) satisfies ErrorRequestHandler);
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const openUnread = async () => {
    const socket = connect(port, '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(socket, 'readable');
    return socket;
  };
  const unread = await Promise.all(Array.from({ length: MAX_PAGES }, openUnread));
  await request(server).get('/').expect(429);
  for (const socket of unread) socket.destroy();
  await eventually(async () => (await request(server).get('/')).status === 200);
  server.close();
  server.closeAllConnections();
});
