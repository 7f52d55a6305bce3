import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { closeBrowsers } from './browser.mjs';
import { startTestApp } from './deployment.mjs';
import { createFaultSchedule } from './fault-schedule.mjs';
import { countOpenFiles, watchProcesses } from './process-health.mjs';
import { createRandom } from './random.mjs';
import { report } from './report.mjs';
import { createResults } from './results.mjs';
import { temporaryFolder } from './temporary-folder.mjs';
import { readIdsByUser, startUsers } from './users.mjs';

/**
 * Runs a soak test for a number of minutes. Users sign in, read pages, send API requests, export workspaces and leave. Meanwhile, Redis,
 * the service and processes fail and recover. The exit code is 1 if a limit in report.mjs is exceeded.
 */

const USERS = 16;

const [minutes = 2, seed = Math.floor(Math.random() * 2 ** 31)] = process.argv.slice(2).map(Number);
const ms = minutes * 60_000;
console.log(`Soak test of ${minutes} min with seed ${seed} on Node ${process.version}.`);

const folder = temporaryFolder('cloakroom-soak-log-');
const log = join(folder, 'log');
const testApp = await startTestApp(log, ms);
let isPassed = false;
try {
  const random = createRandom(seed);
  const results = createResults();
  const filesAtStart = new Map(
    testApp.running.map((appProcess) => [appProcess, countOpenFiles(appProcess.pid)]),
  );
  const settings = { url: testApp.url, results };
  const idsByUser = await readIdsByUser(settings);
  const health = watchProcesses(testApp, results);
  const users = startUsers({ ...settings, idsByUser }, USERS, random.fork());
  const controller = new AbortController();
  const startedAt = performance.now();
  const progress = printProgress(controller.signal, results, startedAt);

  const faults = createFaultSchedule(testApp, results, random.fork(), ms);
  try {
    // If this script itself fails, `finished` rejects, and there are no results.
    await Promise.race([faults.run(), users.finished]);
    await delay(Math.max(0, startedAt + ms - performance.now()));
    await users.stop();
  } finally {
    controller.abort();
    await progress;
    await health.stop();
  }
  isPassed = await report({ testApp, results, faults: faults.counts, health, users, filesAtStart, log });
  process.exitCode = isPassed ? 0 : 1;
} finally {
  await closeBrowsers();
  if (!isPassed) writeFileSync(join(folder, 'haproxy'), testApp.loadBalancer.printed());
  await testApp.stop();
  if (isPassed) rmSync(folder, { recursive: true });
  else console.log(`\nThe logs are in ${folder}.`);
}

/**
 * Prints progress every minute.
 * @param {AbortSignal} signal
 * @param {import('./results.mjs').Results} results
 * @param {number} startedAt
 */
async function printProgress(signal, results, startedAt) {
  while (!signal.aborted) {
    await delay(60_000, undefined, { signal }).catch(() => {});
    const actions = [...results.actions.values()].reduce((sum, { all }) => sum + all, 0);
    const elapsed = Math.round((performance.now() - startedAt) / 60_000);
    const unexplained = results.count('unexplained');
    console.log(
      `after ${elapsed} min: ${actions} actions, ${unexplained} unexplained failures, ${results.lostSessions.length} sessions lost`,
    );
  }
}
