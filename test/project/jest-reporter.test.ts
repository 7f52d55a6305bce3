import { expect, jest, test } from '@jest/globals';
import ClosingReporter from '../../scripts/jest-reporter.mjs';
import SlowKindsFirst from '../../scripts/jest-sequencer.mjs';
import { ROOT } from '../support/constants.ts';

/** Returns the reporter's output for a run with one file for each duration and these tests in the first file. */
function print(
  seconds: readonly number[],
  tests: { fullName: string; status: string }[],
  numFailingTests = 0,
) {
  const log = jest.spyOn(console, 'log').mockReturnValue();
  try {
    const testResults = seconds.map((duration, at) => ({
      testFilePath: `${ROOT}/test/${at}.test.ts`,
      perfStats: { runtime: duration * 1_000 },
      numFailingTests: at === 0 ? numFailingTests : 0,
      testResults: at === 0 ? tests : [],
    }));
    new ClosingReporter({ seed: 7 }).onRunComplete(undefined, { testResults });
    return log.mock.calls.join('\n');
  } finally {
    log.mockRestore();
  }
}

test('a run of many files ends with a list of the 20 slowest files', () => {
  const seconds = Array.from({ length: 30 }, (_, at) => at);
  const printed = print(seconds, []);
  expect(printed).toMatch(/^\nSlowest 20 files:\n {3}29\.0 s {2}test\/29\.test\.ts\n/);
  expect(printed).toMatch(/\n {3}10\.0 s {2}test\/10\.test\.ts$/);
});

test('a successful run of few files prints no summary', () => {
  expect(print([1, 2], [{ fullName: 'a', status: 'passed' }])).toBe('');
});

test('a run ends with a list of its skipped tests and the reasons', () => {
  const tests = [
    { fullName: 'a', status: 'passed' },
    { fullName: 'b (skipped: curl is missing)', status: 'pending' },
    { fullName: 'c', status: 'todo' },
  ];
  expect(print([1], tests)).toBe(
    '\nSkipped tests:\n  test/0.test.ts: b (skipped: curl is missing)\n  test/0.test.ts: c (no reason given)',
  );
});

test.each([
  [{}, '  npm test -- --seed=7 test/0.test.ts'],
  [
    { PROPERTY_SEED: '12', REPEAT_COMMAND: 'npm run test:node -- 24' },
    '  PROPERTY_SEED=12 npm run test:node -- 24 --seed=7 test/0.test.ts',
  ],
  [{ REPEAT_COMMAND: '' }, ''],
])('with the environment %j, a failed run ends with “%s”', (env, command) => {
  const { PROPERTY_SEED: _, REPEAT_COMMAND: __, ...others } = process.env;
  const replaced = jest.replaceProperty(process, 'env', { ...others, ...env });
  try {
    const printed = print([1, 2], [{ fullName: 'a', status: 'failed' }], 1);
    expect(printed.split('\n').at(-1)).toBe(command);
  } finally {
    replaced.restore();
  }
});

test('browser and process tests run before quick tests, with the largest file of each kind first', () => {
  const paths = [
    'test/unit/browser/counts',
    'test/browser/console',
    'test/unit/upstream/target',
    'test/browser/browsing',
  ];
  const files = paths.map((path) => ({ path: `${ROOT}/${path}.test.ts` }));
  const sequencer = new SlowKindsFirst();
  // oxlint-disable-next-line unicorn/no-array-sort -- not an array
  const sorted = sequencer.sort(files).map(({ path }) => path.slice(ROOT.length + 1, -8));
  expect(sorted).toEqual([
    'test/browser/browsing',
    'test/browser/console',
    'test/unit/upstream/target',
    'test/unit/browser/counts',
  ]);
});
