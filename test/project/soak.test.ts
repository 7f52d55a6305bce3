import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { classifyLosses, readLog } from '../../bench/soak/final-checks.mjs';
import { outcomeOf } from '../../bench/soak/outcomes.mjs';
import { growthPerMinute } from '../../bench/soak/process-health.mjs';
import { createRandom } from '../../bench/soak/random.mjs';
import { createResults } from '../../bench/soak/results.mjs';
import { rotationSteps } from '../../bench/soak/session-keys.mjs';
import { startProgram } from '../support/programs.ts';
import { createSmallProject } from './small-project.ts';

test('a fault explains only the responses that it causes while it is active', () => {
  const results = createResults();
  const code = '503 session_store_unavailable';
  const window = results.openWindow('Redis is down', [code]);
  window.to = window.from + 1_000;
  results.record('request', code, window.from);
  results.record('request', code, window.to + 1);
  results.record('request', '500 internal_error', window.from);
  results.record('page', 'ok', window.to + 1);
  expect(results.count('unexplained')).toBe(2);
  expect(Object.fromEntries(results.countByOutcome())).toEqual({
    [code]: { explained: 1, stalled: 0, unexplained: 1 },
    '500 internal_error': { explained: 0, stalled: 0, unexplained: 1 },
  });
  expect(results.examples([])).toEqual([
    expect.stringMatching(/request: 503 session_store_unavailable, after "Redis is down"$/),
    expect.stringMatching(/request: 500 internal_error, after "Redis is down"$/),
  ]);
});

test('failures explained only by a stalled process are counted separately', () => {
  const results = createResults();
  const { from } = results.openWindow('Redis is down', ['503']);
  results.openWindow('a process stalled', ['503', '504'], { isStall: true });
  results.record('request', '503', from);
  results.record('request', '504', from);
  expect(Object.fromEntries(results.countByOutcome())).toEqual({
    503: { explained: 1, stalled: 0, unexplained: 0 },
    504: { explained: 0, stalled: 1, unexplained: 0 },
  });
});

test('no fault explains a wrong response', () => {
  const results = createResults();
  results.openWindow('everything', []);
  results.recordWrongResponse('demo received data of guest');
  expect(results.wrongResponses).toEqual(['demo received data of guest']);
});

test('the loss of a session is unavoidable only if its refresh token was lost during a fault', () => {
  const results = createResults();
  const kill = { losesTokens: true, to: performance.now() + 1_000 };
  const { from } = results.openWindow('a process is killed', [], kill);
  results.openWindow('list requests time out', []);
  const at = performance.timeOrigin + from;
  for (const session of ['one', 'two', 'three']) results.recordLostSession(session, 'page: 303');
  const { lost, unavoidable } = classifyLosses(results, [
    { session: 'one', usedAt: at + 500, endedAt: at + 9_000 },
    { session: 'two', usedAt: at + 1_001, endedAt: at + 9_000 },
    { session: 'another', usedAt: at + 500, endedAt: at + 9_000 },
  ]);
  expect(unavoidable).toBe(1);
  expect(lost.map(({ session }) => session)).toEqual(['two', 'three']);
});

test('the log reveals which sessions ended because their refresh token had already been used', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'cloakroom-test-'));
  const file = join(folder, 'log');
  const ended = { level: 'info', time: 2_000, session: 'abc', reason: 'invalid_grant', msg: 'session ended' };
  const attempt = { attemptBefore: 'interrupted', attemptStartedAt: '1970-01-01T00:00:01.000Z' };
  await writeFile(file, [{ ...ended, ...attempt }, ended].map((line) => JSON.stringify(line)).join('\n'));
  const { usedTokens } = await readLog(file);
  await rm(folder, { recursive: true });
  expect(usedTokens).toEqual([{ session: 'abc', usedAt: 1_000, endedAt: 2_000 }]);
});

test('20 rotations of the session keys use at most four keys and never drop a key', () => {
  let created = 0;
  let keys: readonly string[] = ['first'];
  for (let time = 0; time < 20; time++) {
    const steps = rotationSteps(keys, () => String(++created));
    // A key must be in the list before it can become the first key.
    for (const [at, step] of steps.entries()) expect(steps[at - 1] ?? keys).toContain(step[0]);
    const next = steps.at(-1) ?? [];
    expect(next[0]).not.toBe(keys[0]);
    expect(next).toEqual(expect.arrayContaining([...keys]));
    expect(next.length).toBeLessThanOrEqual(4);
    keys = next;
  }
});

const PROBLEM = { 'content-type': 'application/problem+json' };

test.each([
  [{ status: 502, headers: { via: '1.1 cloakroom' }, text: '<h1>x</h1>' }, '502 forwarded'],
  [{ status: 503, headers: PROBLEM, text: '{"code":"draining"}' }, '503 draining'],
  [{ status: 503, headers: {}, text: '<h1>Cloakroom is down</h1>' }, '503 “Cloakroom is down”'],
  [{ status: 500, headers: {}, text: '' }, '500'],
])('the outcome identifies the origin of a response: %j is %s', (response, outcome) => {
  expect(outcomeOf(response)).toBe(outcome);
});

test('the growth rate excludes the first quarter of the samples, when caches are still filling', () => {
  const early = { at: -5_000, rss: 0, heapUsed: 0, lagMs: 0 };
  const late = (at: number) => ({ at: at * 5_000, rss: 1_000 + at * 10, heapUsed: 7, lagMs: 0 });
  const samples = [early, early, early, ...Array.from({ length: 9 }, (_, at) => late(at))];
  expect(growthPerMinute(samples, 'rss')).toBeCloseTo(120);
  expect(growthPerMinute(samples, 'heapUsed')).toBe(0);
});

test('the same seed produces the same random values', () => {
  const [one, same, other] = [createRandom(7), createRandom(7), createRandom(8)];
  expect(one.shuffle([1, 2, 3, 4, 5, 6, 7, 8])).toEqual(same.shuffle([1, 2, 3, 4, 5, 6, 7, 8]));
  expect(one.fork().between(0, 1)).toBe(same.fork().between(0, 1));
  expect(one.between(0, 1)).not.toBe(other.between(0, 1));
});

test('a soak test without a number of minutes prints its usage', async () => {
  await using project = await createSmallProject({});
  expect(await project.run('soak.mjs', { args: ['long'] })).toEqual({
    code: 1,
    stdout: '',
    stderr: 'Usage: npm run soak -- <minutes> [<seed>]\n',
  });
});

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  'a soak test deletes its folders on %s',
  async (signal) => {
    const script = `
      import { writeFileSync } from 'node:fs';
      import { temporaryFolder } from './bench/soak/temporary-folder.mjs';
      for (const name of ['one-', 'two-']) writeFileSync(temporaryFolder(name) + '/session-keys', 'secret');
      setInterval(() => {}, 1_000);
      console.log('created');`;
    const options = ['--input-type=module', '--eval', script];
    await using program = await startProgram(process.execPath, options);
    await program.waitForOutput(/created/);
    expect(await readdir(program.folder)).toHaveLength(2);
    program.child.kill(signal);
    await program.waitForExit();
    expect(program.child.signalCode).toBe(signal);
    expect(await readdir(program.folder)).toEqual([]);
  },
);
