import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startTestApp } from '../../support/test-app.ts';
import type { TestApp } from '../../support/test-app.ts';
import { eventually } from '../../support/eventually.ts';

let testApp: TestApp;
let cookie: string;
beforeAll(async () => {
  testApp = await startTestApp();
  ({ cookie } = await testApp.enter());
});
afterAll(async () => testApp[Symbol.asyncDispose]());

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
  testApp.logged.length = 0;
  for (const session of ['', `Cookie: ${cookie}\r\n`]) {
    const client = connect(testApp.config.port, '127.0.0.1');
    const over = new Promise((resolve) => client.resume().once('end', resolve).once('close', resolve));
    client.on('error', () => {}); // a reset ends the connection as well
    client.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n${session}Transfer-Encoding: chunked\r\n\r\nzz\r\n`);
    await over;
    client.destroy();
  }
  const lines = () => testApp.logged.map((line) => JSON.parse(line) as LogLine);
  // Whatever the two requests log has been logged once a later one has.
  await fetch(`${testApp.origin}/later`).then(async (response) => response.arrayBuffer());
  await eventually(async () => lines().some((line) => line.path === '/later'));
  expect(lines().filter(({ level }) => ['error', 'fatal'].includes(level))).toEqual([]);
});
