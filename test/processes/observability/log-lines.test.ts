import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { createGatheredLines } from '../../../src/observability/log-lines.ts';
import { eventually } from '../../support/eventually.ts';
import { startProgram } from '../../support/programs.ts';

function createLines() {
  const writes: string[] = [];
  return { writes, lines: createGatheredLines({ write: (text: string) => writes.push(text) }) };
}

test('the lines of a turn are written at once, in their order, and none twice', async () => {
  const { writes, lines } = createLines();
  lines.write('one\n');
  lines.write('two\n');
  expect(writes).toEqual([]);
  await turn();
  expect(writes).toEqual(['one\ntwo\n']);
  lines.write('three\n');
  await turn();
  expect(writes).toEqual(['one\ntwo\n', 'three\n']);
});

test('a long turn does not gather without end', () => {
  const { writes, lines } = createLines();
  for (let count = 0; count < 1_000; count += 1) lines.write(`${'a'.repeat(99)}\n`);
  expect(writes.length).toBeGreaterThan(5);
});

test('what is gathered is written when the process ends', () => {
  const { writes, lines } = createLines();
  lines.write('last\n');
  lines.flush();
  lines.flush();
  expect(writes).toEqual(['last\n']);
});

test('a process whose reader of the log has gone goes on serving', async () => {
  await using program = await startProgram(process.execPath, ['dist/main.js'], {
    PORT: '0',
    SERVICE_URL: 'http://127.0.0.1:9',
    CLIENT_ID: 'a',
    CLIENT_SECRET: 'a',
    SCOPES: 'room:read',
    REDIS_URL: 'redis://127.0.0.1:9',
    SESSION_KEYS: Buffer.alloc(32, 7).toString('base64url'),
  });
  const [, url = ''] = await program.prints(/"url":"([^"]+)".*"msg":"listening"/);
  program.child.stdout?.destroy();
  if (program.child.stdout?.closed !== true) await once(program.child.stdout ?? process.stdout, 'close');
  for (let count = 0; count < 3; count += 1) expect((await fetch(`${url}/healthz`)).status).toBe(200);
  await eventually(async () => (await fetch(`${url}/healthz`)).ok);
});
