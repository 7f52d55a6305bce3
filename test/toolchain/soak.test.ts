import { expect, test } from '@jest/globals';
import { createLedger } from '../../bench/soak/ledger.mjs';
import { createRandom } from '../../bench/soak/random.mjs';
import { growthPerMinute } from '../../bench/soak/vitals.mjs';
import { createSmallProject } from './small-project.ts';

test('a failure is explained by what is broken at the time, and only by a mishap that has such failures', () => {
  const ledger = createLedger();
  const window = ledger.open('Redis is away', /^503/);
  window.to = window.from + 1_000;
  ledger.note('call', '503 session_store_unavailable', window.from);
  ledger.note('call', '500', window.from);
  ledger.note('page', '503', window.to + 1);
  ledger.note('page', 'ok', window.to + 1);
  expect(ledger.unexplained).toBe(2);
  expect(ledger.sumUp()).toEqual(
    new Map([
      ['503 session_store_unavailable', { explained: 1, unexplained: 0 }],
      ['500', { explained: 0, unexplained: 1 }],
      ['503', { explained: 0, unexplained: 1 }],
    ]),
  );
  expect(ledger.examples()).toEqual([
    expect.stringMatching(/call: 500, after "Redis is away"$/),
    expect.stringMatching(/page: 503, after "Redis is away"$/),
  ]);
});

test('a session that is lost, or an answer that is wrong, is explained by nothing', () => {
  const ledger = createLedger();
  ledger.open('everything', /^/);
  ledger.noteLost('page: 303');
  ledger.noteWrong('demo was shown what guest has');
  expect(ledger).toMatchObject({ lost: ['page: 303'], wrong: ['demo was shown what guest has'] });
});

test('growth is that of the later part of a life: a new process fills its caches', () => {
  const late = Array.from({ length: 9 }, (_, at) => ({
    at: at * 5_000,
    rss: 1_000 + at * 10,
    heapUsed: 7,
    lagMs: 0,
  }));
  const samples = [
    ...Array.from({ length: 3 }, () => ({ at: -5_000, rss: 0, heapUsed: 0, lagMs: 0 })),
    ...late,
  ];
  expect(growthPerMinute(samples, 'rss')).toBeCloseTo(120);
  expect(growthPerMinute(samples, 'heapUsed')).toBe(0);
});

test('the same seed gives the same run of chances', () => {
  const [one, same, other] = [createRandom(7), createRandom(7), createRandom(8)];
  expect(one.shuffle([1, 2, 3, 4, 5, 6, 7, 8])).toEqual(same.shuffle([1, 2, 3, 4, 5, 6, 7, 8]));
  expect(one.fork().between(0, 1)).toBe(same.fork().between(0, 1));
  expect(one.between(0, 1)).not.toBe(other.between(0, 1));
});

test('a soak that is told no number of minutes says what it takes', async () => {
  await using project = await createSmallProject({});
  expect(await project.run('soak.mjs', { args: ['long'] })).toEqual({
    code: 1,
    stdout: '',
    stderr: 'Say for how many minutes, and with which seed if it matters: npm run soak -- 20 7\n',
  });
});
