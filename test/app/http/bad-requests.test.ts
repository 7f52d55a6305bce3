import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startHouse } from '../../support/house.ts';
import type { House } from '../../support/house.ts';
import { eventually } from '../../support/eventually.ts';

let house: House;
let cookie: string;
beforeAll(async () => {
  house = await startHouse();
  ({ cookie } = await house.enter());
});
afterAll(async () => house[Symbol.asyncDispose]());

interface LogLine {
  readonly level: string;
  readonly path?: string;
}

test.each([
  '/',
  '/auth/login',
  '/auth/callback',
  '/auth/session',
  '/workspaces',
  '/console',
  '/openapi.json',
  '/api/public/v1/workspaces',
])('a bad chunk behind the head of GET %s causes no log line at error', async (path) => {
  house.logged.length = 0;
  for (const session of ['', `Cookie: ${cookie}\r\n`]) {
    const client = connect(house.config.port, '127.0.0.1');
    const over = new Promise((resolve) => client.resume().once('end', resolve).once('close', resolve));
    client.on('error', () => {}); // a reset ends the connection as well
    client.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n${session}Transfer-Encoding: chunked\r\n\r\nzz\r\n`);
    await over;
    client.destroy();
  }
  const lines = () => house.logged.map((line) => JSON.parse(line) as LogLine);
  // Whatever the two requests log has been logged once a later one has.
  await fetch(`${house.origin}/later`).then(async (response) => response.arrayBuffer());
  await eventually(async () => lines().some((line) => line.path === '/later'));
  expect(lines().filter(({ level }) => ['error', 'fatal'].includes(level))).toEqual([]);
});
