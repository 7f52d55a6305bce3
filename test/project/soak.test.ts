import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { createLedger } from '../../bench/soak/ledger.mjs';
import { judgeLosses, readLog } from '../../bench/soak/left-over.mjs';
import { outcomeOf } from '../../bench/soak/outcomes.mjs';
import { createRandom } from '../../bench/soak/random.mjs';
import { replacement } from '../../bench/soak/session-keys.mjs';
import { growthPerMinute } from '../../bench/soak/vitals.mjs';
import { startProgram } from '../support/programs.ts';
import { createSmallProject } from './small-project.ts';

test('an outage explains only the responses that it causes while it lasts', () => {
  const ledger = createLedger();
  const code = '503 session_store_unavailable';
  const window = ledger.open('Redis is away', [code]);
  window.to = window.from + 1_000;
  ledger.note('call', code, window.from);
  ledger.note('call', code, window.to + 1);
  ledger.note('call', '500 internal_error', window.from);
  ledger.note('page', 'ok', window.to + 1);
  expect(ledger.count('unexplained')).toBe(2);
  expect(Object.fromEntries(ledger.sumUp())).toEqual({
    [code]: { explained: 1, excused: 0, unexplained: 1 },
    '500 internal_error': { explained: 0, excused: 0, unexplained: 1 },
  });
  expect(ledger.examples([])).toEqual([
    expect.stringMatching(/call: 503 session_store_unavailable, after "Redis is away"$/),
    expect.stringMatching(/call: 500 internal_error, after "Redis is away"$/),
  ]);
});

test('failures explained only by a busy machine are counted separately', () => {
  const ledger = createLedger();
  const { from } = ledger.open('Redis is away', ['503']);
  ledger.open('a process got no processor', ['503', '504'], { isExcuse: true });
  ledger.note('call', '503', from);
  ledger.note('call', '504', from);
  expect(Object.fromEntries(ledger.sumUp())).toEqual({
    503: { explained: 1, excused: 0, unexplained: 0 },
    504: { explained: 0, excused: 1, unexplained: 0 },
  });
});

test('a wrong response is never explained by an outage', () => {
  const ledger = createLedger();
  ledger.open('everything', []);
  ledger.noteWrong('demo was shown what guest has');
  expect(ledger.wrong).toEqual(['demo was shown what guest has']);
});

test('the loss of a session is explained only if it lost a token in an outage', () => {
  const ledger = createLedger();
  const kill = { losesTokens: true, to: performance.now() + 1_000 };
  const { from } = ledger.open('a process is killed', [], kill);
  ledger.open('lists hang', []);
  const at = performance.timeOrigin + from;
  for (const session of ['one', 'two', 'three']) ledger.noteLost(session, 'page: 303');
  const { lost, died } = judgeLosses(ledger, [
    { session: 'one', begunAt: at + 500, endedAt: at + 9_000 },
    { session: 'two', begunAt: at + 1_001, endedAt: at + 9_000 },
    { session: 'another', begunAt: at + 500, endedAt: at + 9_000 },
  ]);
  expect(died).toBe(1);
  expect(lost.map(({ session }) => session)).toEqual(['two', 'three']);
});

test('the log reveals which sessions ended because of a lost token', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'cloakroom-test-'));
  const file = join(folder, 'log');
  const ended = { level: 'info', time: 2_000, session: 'abc', reason: 'invalid_grant', msg: 'session ended' };
  const attempt = { attemptBefore: 'interrupted', attemptStartedAt: '1970-01-01T00:00:01.000Z' };
  await writeFile(file, [{ ...ended, ...attempt }, ended].map((line) => JSON.stringify(line)).join('\n'));
  const { deaths } = await readLog(file);
  await rm(folder, { recursive: true });
  expect(deaths).toEqual([{ session: 'abc', begunAt: 1_000, endedAt: 2_000 }]);
});

test('replacing session keys 20 times keeps every key that is in use, and never more than four keys', () => {
  let made = 0;
  let keys: readonly string[] = ['first'];
  for (let time = 0; time < 20; time++) {
    const steps = replacement(keys, () => String(++made));
    // Every process knows a key before it becomes the first one.
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
  [{ status: 502, headers: { via: '1.1 cloakroom' }, text: '<h1>x</h1>' }, '502 passed on'],
  [{ status: 503, headers: PROBLEM, text: '{"code":"draining"}' }, '503 draining'],
  [{ status: 503, headers: {}, text: '<h1>Cloakroom is away</h1>' }, '503 “Cloakroom is away”'],
  [{ status: 500, headers: {}, text: '' }, '500'],
])('the outcome identifies the source of a response: %j is %s', (response, outcome) => {
  expect(outcomeOf(response)).toBe(outcome);
});

test('growth is measured only after the caches of a process have filled', () => {
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
    stderr: 'Give the minutes, and a seed if it matters: npm run soak -- 20 7\n',
  });
});

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  'a soak test that receives %s deletes its folders',
  async (signal) => {
    const script = `
      import { writeFileSync } from 'node:fs';
      import { temporaryFolder } from './bench/soak/temporary-folder.mjs';
      for (const name of ['one-', 'two-']) writeFileSync(temporaryFolder(name) + '/session-keys', 'secret');
      setInterval(() => {}, 1_000);
      console.log('created');`;
    const options = ['--input-type=module', '--eval', script];
    await using program = await startProgram(process.execPath, options);
    await program.prints(/created/);
    expect(await readdir(program.folder)).toHaveLength(2);
    program.child.kill(signal);
    await program.ended();
    expect(program.child.signalCode).toBe(signal);
    expect(await readdir(program.folder)).toEqual([]);
  },
);
