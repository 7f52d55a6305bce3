import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { closeBrowsers } from './browser.mjs';
import { startTestApp } from './deployment.mjs';
import { judge } from './judge.mjs';
import { createLedger } from './ledger.mjs';
import { createMisfortune } from './misfortune.mjs';
import { readItems, startPeople } from './people.mjs';
import { createRandom } from './random.mjs';
import { temporaryFolder } from './temporary-folder.mjs';
import { openFiles, watchVitals } from './vitals.mjs';

/**
 * Runs a soak test for some minutes: users sign in, read pages, send API requests, export and leave, while Redis, the service and
 * processes fail and recover. The exit code is 1 if a session was lost, a response was wrong, or a failure is unexplained.
 */

const PEOPLE = 16;

const [minutes = 2, seed = Math.floor(Math.random() * 2 ** 31)] = process.argv.slice(2).map(Number);
const ms = minutes * 60_000;
console.log(`${minutes} minutes of everything, seed ${seed}, Node ${process.version}.`);

const folder = temporaryFolder('cloakroom-soak-log-');
const log = join(folder, 'log');
const testApp = await startTestApp(log, ms);
let isSound = false;
try {
  const random = createRandom(seed);
  const ledger = createLedger();
  const filesAtFirst = new Map(testApp.running.map((life) => [life, openFiles(life.pid)]));
  const place = { url: testApp.url, ledger };
  const itemsOf = await readItems(place);
  const vitals = watchVitals(testApp, ledger);
  const people = startPeople({ ...place, itemsOf }, PEOPLE, random.fork());
  const over = new AbortController();
  const began = performance.now();
  const telling = tell(over.signal, ledger, began);

  const misfortune = createMisfortune(testApp, ledger, random.fork(), ms);
  try {
    // A user who throws is a flaw of this script: there is nothing to judge.
    await Promise.race([misfortune.suffer(), people.gone]);
    await delay(Math.max(0, began + ms - performance.now()));
    await people.stop();
  } finally {
    over.abort();
    await telling;
    await vitals.stop();
  }
  isSound = await judge({ testApp, ledger, mishaps: misfortune.counts, vitals, people, filesAtFirst, log });
  process.exitCode = isSound ? 0 : 1;
} finally {
  await closeBrowsers();
  if (!isSound) writeFileSync(join(folder, 'haproxy'), testApp.balancer.printed());
  await testApp.stop();
  if (isSound) rmSync(folder, { recursive: true });
  else console.log(`\nThe logs are in ${folder}.`);
}

/**
 * Prints a line of progress each minute.
 * @param {AbortSignal} signal
 * @param {import('./ledger.mjs').Ledger} ledger
 * @param {number} began
 */
async function tell(signal, ledger, began) {
  while (!signal.aborted) {
    await delay(60_000, undefined, { signal }).catch(() => {});
    const deeds = [...ledger.deeds.values()].reduce((sum, { all }) => sum + all, 0);
    const after = Math.round((performance.now() - began) / 60_000);
    console.log(
      `after ${after} min: ${deeds} actions, ${ledger.count('unexplained')} unexplained failures, ${ledger.lost.length} sessions lost`,
    );
  }
}
