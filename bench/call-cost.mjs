import { setTimeout as delay } from 'node:timers/promises';
import { costOf, enterMany, settled, toCommandRows } from './support/cost.mjs';
import { startTestApp } from './support/deployment.mjs';
import { figure, printTable } from './support/table.mjs';

/** What a call costs: Redis commands, CPU time as ratios, bytes in an append-only file; and what a renewal costs in calls. */

/** @typedef {import('./support/cost.mjs').TestApp} TestApp */
/** @typedef {import('./support/cost.mjs').Cost} Cost */

const CALLERS = 32;
const CALLS = 20_000;
/** src/session/store.ts remembers 10,000 at most. */
const MORE_THAN_REMEMBERED = 11_000;
const NEW_SESSIONS = 2_000;
/** Of 900: renewed with the first call. */
const SOON_SPENT_SECONDS = 30;

await measureCalls();

async function measureCalls() {
  const testApp = await startTestApp({ processes: 1 });
  try {
    const few = await enterMany(testApp, 100);
    const many = await enterMany(testApp, MORE_THAN_REMEMBERED);
    await callAll(testApp, few); // until it is warm
    const remembered = await costOf(testApp, async () => callAll(testApp, few));
    await callAll(testApp, many, many.length);
    const forgotten = await costOf(testApp, async () => callAll(testApp, many));
    const fresh = await costOfFirstCalls(testApp);
    await costOfFirstCalls(testApp, SOON_SPENT_SECONDS); // until it is warm
    const renewing = await costOfFirstCalls(testApp, SOON_SPENT_SECONDS);
    await testApp.store.redis.config('SET', 'appendonly', 'yes');
    await settled(testApp);
    const logged = await costOf(testApp, async () => callAll(testApp, few));

    printTable('Redis commands for one call', toCommandRows(remembered.commands, CALLS));
    printTable('CPU time of a busy process', [
      ['', 'ratio'],
      ['call: Cloakroom to Redis', figure(remembered.processMs / remembered.redisMs)],
      ['call: session not remembered to remembered', figure(forgotten.processMs / remembered.processMs)],
      ['call: Redis with an append-only file to one without', figure(logged.redisMs / remembered.redisMs)],
      ['renewal to a call: Cloakroom', figure(extra(renewing, fresh, remembered, 'processMs'))],
      ['renewal to a call: Redis', figure(extra(renewing, fresh, remembered, 'redisMs'))],
    ]);
    console.log(`\nBytes in the append-only file for one call: ${figure(logged.written / CALLS)}`);
    const perCore = CALLS / (remembered.processMs / 1_000);
    console.log(`Calls a second that keep one core of this machine busy, as it is now: ${figure(perCore)}`);
  } finally {
    await testApp.stop();
  }
}

/**
 * Several calls each of sessions that are new to the process: with tokens that are soon spent, each is renewed once.
 * @param {TestApp} testApp
 * @param {number} [leftSeconds]
 */
async function costOfFirstCalls(testApp, leftSeconds) {
  const cookies = await enterMany(testApp, NEW_SESSIONS, leftSeconds);
  const due = testApp.service.refreshes + (leftSeconds === undefined ? 0 : NEW_SESSIONS);
  return costOf(testApp, async () => {
    await callAll(testApp, cookies);
    while (testApp.service.refreshes < due) await delay(50);
    await delay(500); // the last ones are being stored
  });
}

/**
 * What a renewal costs on top of the calls that it goes on beside, in calls.
 * @param {Cost} renewing
 * @param {Cost} fresh
 * @param {Cost} calls
 * @param {'processMs' | 'redisMs'} whose
 */
function extra(renewing, fresh, calls, whose) {
  return (renewing[whose] - fresh[whose]) / NEW_SESSIONS / (calls[whose] / CALLS);
}

/**
 * One call after the other by each of a few callers, who take turns with the sessions.
 * @param {TestApp} testApp
 * @param {readonly string[]} cookies
 * @param {number} [calls]
 */
async function callAll(testApp, cookies, calls = CALLS) {
  let next = 0;
  const caller = async () => {
    while (next < calls) await testApp.call(0, cookies[next++ % cookies.length] ?? '');
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
}
