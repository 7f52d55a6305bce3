import { once } from 'node:events';
import { connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import express from 'express';
import type { ErrorRequestHandler } from 'express';
import request from 'supertest';
import type { Session } from '../../../src/session/record.ts';
import { limitPages } from '../../../src/workspaces/concurrency.ts';
import { eventually } from '../../support/eventually.ts';
import { json } from '../../support/raw-service.ts';
import { withEmptyRedis } from './browser-app.ts';
import type { BrowserApp } from './browser-app.ts';
import { startSmallService } from './small-service.ts';

const start = withEmptyRedis();

/** Of so many connections a session’s pages may have an eighth. */
const CONNECTIONS = 24;
const MOST_PAGES = 3;

const SESSION: Session = {
  id: 'a-session',
  encrypted: '',
  record: { grant: { accessToken: '', expiresAt: 0, lifetimeMs: 0, scopes: [] }, createdAt: 0 },
};

const ask = (app: BrowserApp, session = 'session-a') =>
  request(app.server).get('/workspaces').set('x-test-session', session);

test('One page too many of a session at once is a 429, until one of the others is there or has failed', async () => {
  const waiting: Socket[] = [];
  await using service = await startSmallService([], (_call, socket) => {
    waiting.push(socket);
    return null;
  });
  await using app = await start(service, { connections: CONNECTIONS });
  const pages = Array.from({ length: MOST_PAGES }, async () => ask(app));
  const statuses = Promise.all(pages).then((answers) => answers.map(({ status }) => status));
  await eventually(async () => waiting.length === MOST_PAGES);
  const refused = await ask(app).expect(429).expect('retry-after', '2');
  expect(refused.text).toContain('Too many pages at once');
  const others = ask(app, 'session-b').then(({ status }) => status);
  await eventually(async () => waiting.length === MOST_PAGES + 1);

  for (const [at, socket] of waiting.splice(0).entries())
    socket.write(json(at === 0 ? 500 : 200, { value: [] }));
  expect(new Set(await statuses)).toEqual(new Set([200, 502]));
  expect(await others).toBe(200);
  const again = ask(app).then(({ status }) => status);
  await eventually(async () => waiting.length === 1);
  for (const socket of waiting) socket.write(json(200, { value: [] }));
  expect(await again).toBe(200);
});

test('Where a few sessions have all the pages they get, another one has two at once', async () => {
  const waiting: Socket[] = [];
  await using service = await startSmallService([], (_call, socket) => {
    waiting.push(socket);
    return null;
  });
  await using app = await start(service, { connections: CONNECTIONS });
  const pages: Promise<number>[] = [];
  for (const session of ['a', 'a', 'a', 'b', 'b', 'b', 'c', 'c', 'c', 'd', 'd']) {
    pages.push(ask(app, session).then(({ status }) => status));
    await eventually(async () => waiting.length === pages.length); // what each may have goes by what others have
  }
  await ask(app, 'd').expect(429);
  for (const socket of waiting) socket.write(json(200, { value: [] }));
  expect(new Set(await Promise.all(pages))).toEqual(new Set([200]));
});

test('A page that nobody reads counts until its reader has gone: it stays in memory for as long', async () => {
  const app = express();
  app.get(
    '/',
    limitPages({ perSession: MOST_PAGES }, () => SESSION),
    (_req, res) => {
      res.send('x'.repeat(20_000_000)); // more than the system takes for who doesn’t read
    },
  );
  app.use(((_error, _req, res, _next) => res.sendStatus(429)) satisfies ErrorRequestHandler);
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const leaveUnread = async () => {
    const socket = connect(port, '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(socket, 'readable');
    return socket;
  };
  const unread = await Promise.all(Array.from({ length: MOST_PAGES }, leaveUnread));
  await request(server).get('/').expect(429);
  for (const socket of unread) socket.destroy();
  await eventually(async () => (await request(server).get('/')).status === 200);
  server.close();
  server.closeAllConnections();
});
