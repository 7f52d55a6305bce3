import { formatNumber, printTable } from '../support/table.mjs';
import {
  classifyLosses,
  countExtraFiles,
  countKeysWithoutTtl,
  MAX_EXTRA_FILES,
  readLog,
} from './final-checks.mjs';
import { growthPerMinute } from './process-health.mjs';

/** @typedef {import('./deployment.mjs').TestApp} TestApp */
/** @typedef {import('./deployment.mjs').AppProcess} AppProcess */
/** @typedef {import('./results.mjs').Results} Results */
/**
 * The data for the report on a run.
 * @typedef {object} Run
 * @property {TestApp} testApp
 * @property {Results} results
 * @property {ReadonlyMap<string, number>} faults the number of times that each fault has occurred
 * @property {ReturnType<typeof import('./process-health.mjs').watchProcesses>} health
 * @property {ReturnType<typeof import('./users.mjs').startUsers>} users
 * @property {ReadonlyMap<AppProcess, number>} filesAtStart
 * @property {string} log
 */

const MB = 1_000_000;
/** Minimum number of samples from which growth can be calculated. */
const MIN_SAMPLES = 12;
/** The minimum age of a process whose growth is checked. In younger processes, the caches are still filling. */
const GROWTH_CHECKED_FROM_MS = 8 * 60_000;
/** The maximum memory growth per minute, measured after full garbage collections. */
const MAX_HEAP_GROWTH_BYTES = 0.25 * MB;
const MAX_RSS_GROWTH_BYTES = 1.5 * MB;
const GROWTH_NOT_CHECKED = [
  [
    'heap growth, MB/min',
    '–',
    formatNumber(MAX_HEAP_GROWTH_BYTES / MB),
    'not checked: no process ran for 8 min',
  ],
  [
    'RSS growth, MB/min',
    '–',
    formatNumber(MAX_RSS_GROWTH_BYTES / MB),
    'not checked: no process ran for 8 min',
  ],
];

/**
 * Runs the final checks and prints the results of a run. Resolves to whether all results are within their limits.
 * @param {Run} run
 */
export async function report({ testApp, results, faults, health, users, filesAtStart, log }) {
  const resumed = users.idleVisits.filter(({ isLost }) => !isLost);
  for (const visit of resumed)
    await visit.attempt('request after idling', async () => visit.send('/api/public/v1/soak/empty'));
  const keysWithoutTtl = await countKeysWithoutTtl(testApp);
  const processes = testApp.allProcesses.map((appProcess) => toProcessRow(appProcess, testApp, health));
  await testApp.loadBalancer[Symbol.asyncDispose]();
  const extraFiles = await countExtraFiles(testApp, filesAtStart);
  const { usedTokens, errors } = await readLog(log);
  const { lost, unavoidable } = classifyLosses(results, usedTokens);
  const crashed = testApp.allProcesses.filter(
    ({ isEndedByTest, hasExited }) => !isEndedByTest && hasExited(),
  );

  printTable('User actions', [
    ['action', 'count', 'succeeded'],
    ...[...results.actions].map(([name, { all, ok }]) => [name, String(all), String(ok)]),
  ]);
  printTable('Other outcomes', [
    ['outcome', 'explained by a fault', 'explained only by a stall', 'unexplained'],
    ...[...results.countByOutcome()].map(([name, { explained, stalled, unexplained }]) => [
      name,
      String(explained),
      String(stalled),
      String(unexplained),
    ]),
  ]);
  printTable(`Faults (${faults.size} kinds)`, [['fault', 'count'], ...toRows(faults)]);
  printTable('Processes, after full garbage collections', [
    [
      'process',
      'age, min',
      'first heap, MB',
      'last heap, MB',
      'growth, MB/min',
      'last RSS, MB',
      'growth, MB/min',
      'max. event loop delay, ms',
    ],
    ...processes.map(({ cells }) => cells),
  ]);
  if (errors.size > 0) printTable('Errors in the logs', [['message', 'count'], ...toRows(errors)]);
  const examples = results.examples(lost);
  if (examples.length > 0) console.log(`\nFirst unexplained results:\n\n${examples.join('\n')}`);

  const limits = /** @type {const} */ ([
    ['lost sessions, except unavoidable losses', lost.length, 0],
    ['wrong responses', results.wrongResponses.length, 0],
    ['unexplained failures', results.count('unexplained'), 0],
    ['Redis keys without a time to live', keysWithoutTtl, 0],
    ['crashed processes', crashed.length, 0],
    ['unexpected errors in the logs', [...errors.values()].reduce((sum, count) => sum + count, 0), 0],
    ['open files beyond those at the start', extraFiles, MAX_EXTRA_FILES],
    ...processes.flatMap(({ growthLimits }) => growthLimits),
  ]);
  printTable('Limits', [
    ['result', 'value', 'maximum', ''],
    ...limits.map(([name, value, max]) => [
      name,
      formatNumber(value),
      formatNumber(max),
      value <= max ? '' : 'EXCEEDED',
    ]),
    ...(processes.some(({ growthLimits }) => growthLimits.length > 0) ? [] : GROWTH_NOT_CHECKED),
  ]);
  console.log(
    `\n${results.signIns} sign-ins, ${results.signOuts} sign-outs, ${resumed.length} idle sessions used again at the end. ` +
      `${unavoidable} sessions were lost unavoidably, because a fault lost the response with their rotated refresh token. ` +
      `${results.count('stalled')} failures are explained only by a stall: a process got no CPU time for at least 1.5 s. ` +
      `There were ${health.stalls.count} stalls, ${formatNumber(health.stalls.ms / 1_000)} s in total.`,
  );
  return limits.every(([, value, max]) => value <= max);
}

/**
 * @param {AppProcess} appProcess
 * @param {TestApp} testApp
 * @param {Run['health']} health
 */
function toProcessRow(appProcess, testApp, { samples }) {
  const ofProcess = samples.get(appProcess) ?? [];
  const [first] = ofProcess;
  const last = ofProcess.at(-1);
  const ageMs = (last?.at ?? appProcess.startedAt) - appProcess.startedAt;
  const heapGrowth = growthPerMinute(ofProcess, 'heapUsed');
  const rssGrowth = growthPerMinute(ofProcess, 'rss');
  const mb = (/** @type {number | undefined} */ bytes) =>
    bytes === undefined ? '–' : formatNumber(bytes / MB);
  const growth = (/** @type {number} */ bytes) => (ofProcess.length < MIN_SAMPLES ? '–' : mb(bytes));
  const suffix = testApp.running.includes(appProcess) ? '' : ', replaced';
  const { number } = appProcess;
  return {
    cells: [
      `${number} (slot ${appProcess.slot + 1}${suffix})`,
      formatNumber(ageMs / 60_000),
      mb(first?.heapUsed),
      mb(last?.heapUsed),
      growth(heapGrowth),
      mb(last?.rss),
      growth(rssGrowth),
      formatNumber(Math.max(0, ...ofProcess.map(({ lagMs }) => lagMs))),
    ],
    growthLimits:
      ageMs < GROWTH_CHECKED_FROM_MS
        ? []
        : [
            /** @type {const} */ ([
              `heap growth of process ${number}, MB/min`,
              heapGrowth / MB,
              MAX_HEAP_GROWTH_BYTES / MB,
            ]),
            /** @type {const} */ ([
              `RSS growth of process ${number}, MB/min`,
              rssGrowth / MB,
              MAX_RSS_GROWTH_BYTES / MB,
            ]),
          ],
  };
}

/** @param {ReadonlyMap<string, number>} counts */
function toRows(counts) {
  return [...counts].map(([name, count]) => [name, String(count)]);
}
