import { expect, test } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { startProgram } from '../support/programs.ts';

test('a process without options on its command line neither pretenures objects nor collects with several threads', async () => {
  const trace = ['--trace-pretenuring-statistics', '--trace-gc-nvp'];
  await using program = await startProgram(process.execPath, [...trace, 'dist/main.js'], {
    PORT: '0',
    SERVICE_URL: 'http://127.0.0.1:9',
    CLIENT_ID: 'a',
    CLIENT_SECRET: 'a',
    SCOPES: 'room:read',
    REDIS_URL: 'redis://127.0.0.1:9',
    SESSION_KEYS: Buffer.alloc(32, 7).toString('base64url'),
  });
  const [, url = ''] = await program.waitForOutput(/"url":"([^"]+)".*"msg":"listening"/);
  const whileLoading = program.lines().length;
  const lines = () => program.lines().slice(whileLoading);
  const collections = () => lines().filter((line) => / gc=s /.test(line));
  await eventually(async () => {
    await Promise.all(Array.from({ length: 50 }, async () => (await fetch(`${url}/healthz`)).text()));
    return collections().length > 0;
  });
  expect(lines().filter((line) => line.startsWith('pretenuring:'))).toEqual([]);
  expect(collections().filter((line) => !line.includes('background.scavenge.parallel=0.00'))).toEqual([]);
});
