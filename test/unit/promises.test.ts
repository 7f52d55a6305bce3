import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from '@jest/globals';
import { settlesWithin } from '../../src/promises.ts';
import { blockEventLoop } from '../support/event-loop.ts';
import { startTcpServer } from '../support/tcp-server.ts';

test('settlesWithin() accepts data that arrives while the event loop is blocked past the timeout', async () => {
  await using server = await startTcpServer((socket) => socket.on('data', (chunk) => socket.write(chunk)));
  const client = connect(server.port, '127.0.0.1');
  await once(client, 'connect');
  client.write('a');
  await once(client, 'data');
  const [serverEnd] = server.sockets;
  serverEnd?.write('b');
  const inTime = settlesWithin(once(client, 'data'), 20);
  blockEventLoop(100);
  expect(await inTime).toBe(true);
  client.destroy();
});

test('settlesWithin() resolves with false if the promise does not settle in time', async () => {
  expect(await settlesWithin(new Promise(() => {}), 20)).toBe(false);
  expect(await settlesWithin(new Promise(() => {}), -1)).toBe(false);
});
