import { figure, printTable } from '../support/table.mjs';
import { FILES_LEFT, judgeLosses, keysWithoutEnd, openFilesLeft, readLog } from './left-over.mjs';
import { growthPerMinute } from './vitals.mjs';

/** @typedef {import('./deployment.mjs').TestApp} TestApp */
/** @typedef {import('./deployment.mjs').Life} Life */
/** @typedef {import('./ledger.mjs').Ledger} Ledger */
/**
 * The results of a run.
 * @typedef {object} Run
 * @property {TestApp} testApp
 * @property {Ledger} ledger
 * @property {ReadonlyMap<string, number>} mishaps how often each has happened
 * @property {ReturnType<typeof import('./vitals.mjs').watchVitals>} vitals
 * @property {ReturnType<typeof import('./people.mjs').startPeople>} people
 * @property {ReadonlyMap<Life, number>} filesAtFirst
 * @property {string} log
 */

const MB = 1_000_000;
/** The fewest samples that show growth. */
const SAMPLES = 12;
/** A younger process still fills its caches: its growth is printed, and not judged. */
const JUDGED_AFTER_MS = 8 * 60_000;
/** Growth a minute, after a full collection. */
const HEAP_GROWTH_BYTES = 0.25 * MB;
const RSS_GROWTH_BYTES = 1.5 * MB;
const NO_GROWTH_JUDGED = [
  ['growth of the heap', '–', figure(HEAP_GROWTH_BYTES / MB), 'not judged: no process lived for 8 minutes'],
  ['growth of the RSS', '–', figure(RSS_GROWTH_BYTES / MB), 'not judged: no process lived for 8 minutes'],
];
/**
 * Checks what is left after the last user, prints the results, and returns whether every limit was kept.
 * @param {Run} run
 */
export async function judge({ testApp, ledger, mishaps, vitals, people, filesAtFirst, log }) {
  const asleep = people.asleep.filter(({ isLost }) => !isLost);
  for (const visit of asleep)
    await visit.try('first use after idling', async () => visit.send('/api/public/v1/soak/whose'));
  const immortal = await keysWithoutEnd(testApp);
  const processes = await Promise.all(testApp.lives.map(async (life) => toProcess(life, testApp, vitals)));
  await testApp.balancer[Symbol.asyncDispose]();
  const filesLeft = await openFilesLeft(testApp, filesAtFirst);
  const { deaths, errors } = await readLog(log);
  const { lost, died } = judgeLosses(ledger, deaths);
  const endedByThemselves = testApp.lives.filter(({ isEnded, wasGone }) => !isEnded && wasGone());

  printTable('Actions of users', [
    ['action', 'count', 'as expected'],
    ...[...ledger.deeds].map(([name, { all, ok }]) => [name, String(all), String(ok)]),
  ]);
  printTable('Other outcomes', [
    ['outcome', 'explained by a mishap', 'explained by a stalled process only', 'unexplained'],
    ...[...ledger.sumUp()].map(([name, { explained, excused, unexplained }]) => [
      name,
      String(explained),
      String(excused),
      String(unexplained),
    ]),
  ]);
  printTable(`Mishaps, of ${mishaps.size} kinds`, [
    ['mishap', 'times'],
    ...[...mishaps].map(([name, count]) => [name, String(count)]),
  ]);
  printTable('Processes, after full collections', [
    [
      'process',
      'lived, min',
      'heap at first, MB',
      'at last',
      'growth a min',
      'RSS at last',
      'growth a min',
      'lag, ms',
    ],
    ...processes.map(({ cells }) => cells),
  ]);
  if (errors.size > 0) printTable('Errors in the logs', [['message', 'count'], ...toRows(errors)]);
  const examples = ledger.examples(lost);
  if (examples.length > 0) console.log(`\nThe first of what is unexplained:\n\n${examples.join('\n')}`);

  const bounds = /** @type {const} */ ([
    ['sessions lost, except those whose rotated token was lost on the way', lost.length, 0],
    ['wrong responses', ledger.wrong.length, 0],
    ['unexplained failures', ledger.count('unexplained'), 0],
    ['keys in Redis without a time to live', immortal, 0],
    ['processes that ended by themselves', endedByThemselves.length, 0],
    ['unexpected errors in the logs', [...errors.values()].reduce((sum, count) => sum + count, 0), 0],
    ['open files beyond those at first', filesLeft, FILES_LEFT],
    ...processes.flatMap(({ judged }) => judged),
  ]);
  printTable('Bounds', [
    ['what', 'is', 'at most', ''],
    ...bounds.map(([what, is, most]) => [what, figure(is), figure(most), is <= most ? '' : 'BROKEN']),
    ...(processes.some(({ judged }) => judged.length > 0) ? [] : NO_GROWTH_JUDGED),
  ]);
  console.log(
    `\n${ledger.signIns} sign-ins, ${ledger.signOuts} sign-outs, ${asleep.length} idle sessions used again at the end; ` +
      `${died} sessions were lost because their rotated token was lost with its process or on the way. ` +
      `${ledger.count('excused')} failures are explained only by a process without CPU time for 1.5 s or longer, ` +
      `which happened ${vitals.stalled.count} times, for ${figure(vitals.stalled.ms / 1_000)} s in all.`,
  );
  return bounds.every(([, is, most]) => is <= most);
}

/**
 * @param {Life} life
 * @param {TestApp} testApp
 * @param {Run['vitals']} vitals
 */
async function toProcess(life, testApp, { samples }) {
  const mine = samples.get(life) ?? [];
  const [first] = mine;
  const last = mine.at(-1);
  const livedMs = (last?.at ?? life.bornAt) - life.bornAt;
  const heap = growthPerMinute(mine, 'heapUsed');
  const rss = growthPerMinute(mine, 'rss');
  const mb = (/** @type {number | undefined} */ bytes) => (bytes === undefined ? '–' : figure(bytes / MB));
  const grown = (/** @type {number} */ bytes) => (mine.length < SAMPLES ? '–' : mb(bytes));
  const end = testApp.running.includes(life) ? '' : ', replaced';
  return {
    cells: [
      `${life.number} (place ${life.slot + 1}${end})`,
      figure(livedMs / 60_000),
      mb(first?.heapUsed),
      mb(last?.heapUsed),
      grown(heap),
      mb(last?.rss),
      grown(rss),
      figure(Math.max(0, ...mine.map(({ lagMs }) => lagMs))),
    ],
    judged:
      livedMs < JUDGED_AFTER_MS
        ? []
        : [
            /** @type {const} */ ([
              `growth of the heap of process ${life.number}, MB a min`,
              heap / MB,
              HEAP_GROWTH_BYTES / MB,
            ]),
            /** @type {const} */ ([
              `growth of the RSS of process ${life.number}, MB a min`,
              rss / MB,
              RSS_GROWTH_BYTES / MB,
            ]),
          ],
  };
}

/** @param {ReadonlyMap<string, number>} counts */
function toRows(counts) {
  return [...counts].map(([name, count]) => [name, String(count)]);
}
