import { expect, test } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { startProgram } from '../support/programs.ts';

/** Starts a process with options that trace V8, and sends requests until `isDone`. Resolves with the lines that follow `listening`. */
async function trace(
  options: readonly string[],
  isDone: (lines: readonly string[], allLines: readonly string[]) => boolean,
) {
  await using program = await startProgram(process.execPath, [...options, 'dist/main.js'], {
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
  await eventually(async () => {
    await Promise.all(Array.from({ length: 50 }, async () => (await fetch(`${url}/healthz`)).text()));
    return isDone(lines(), program.lines());
  });
  return lines();
}

test('a process without options on its command line does not pretenure, collects with one thread and grows its heap by 30%', async () => {
  const isCollection = (line: string) => / gc=s /.test(line);
  // Node 20's V8 prints the factor by which the heap may grow after the new limit, Node 24's before it.
  const growsBy30Percent = (line: string) => /HeapController\] (?:Limit: .*\(1\.3\)|factor 1\.3 )/.test(line);
  const lines = await trace(
    ['--trace-pretenuring-statistics', '--trace-gc-nvp', '--trace-gc-verbose', '--initial-heap-size=12'],
    (traced, all) => traced.some(isCollection) && all.some(growsBy30Percent),
  );
  expect(lines.filter((line) => line.startsWith('pretenuring:'))).toEqual([]);
  const ofSeveralThreads = (line: string) => !line.includes('background.scavenge.parallel=0.00');
  expect(lines.filter(isCollection).filter(ofSeveralThreads)).toEqual([]);
});

test('minor collections wait until the young generation is full', async () => {
  const isCollection = (line: string) => line.includes(': Scavenge ');
  const lines = await trace(['--trace-gc'], (traced) => traced.filter(isCollection).length >= 3);
  // V8 traces the reason for a collection: `task` for a scheduled one, `allocation failure` for one that allocation needed.
  expect(lines.filter(isCollection).filter((line) => line.includes(' task'))).toEqual([]);
});
