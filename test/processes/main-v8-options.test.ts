import { expect, test } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { startProgram } from '../support/programs.ts';

test('a process without options on its command line does not pretenure, collects with one thread and grows its heap by 30%', async () => {
  const trace = [
    '--trace-pretenuring-statistics',
    '--trace-gc-nvp',
    '--trace-gc-verbose',
    '--initial-heap-size=12',
  ];
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
  // Node 20's V8 prints the factor by which the heap may grow after the new limit, Node 24's before it.
  const growsBy30Percent = (line: string) => /HeapController\] (?:Limit: .*\(1\.3\)|factor 1\.3 )/.test(line);
  await eventually(async () => {
    await Promise.all(Array.from({ length: 50 }, async () => (await fetch(`${url}/healthz`)).text()));
    return collections().length > 0 && program.lines().some(growsBy30Percent);
  });
  expect(lines().filter((line) => line.startsWith('pretenuring:'))).toEqual([]);
  expect(collections().filter((line) => !line.includes('background.scavenge.parallel=0.00'))).toEqual([]);
});
