import { setTimeout as delay } from 'node:timers/promises';
import { costOf, enterMany, settled, toCommandRows } from './support/cost.mjs';
import { startHouse } from './support/house.mjs';
import { figure, printTable } from './support/table.mjs';

/** What a call costs: Redis commands, CPU time as ratios, bytes in an append-only file; and what a renewal costs in calls. */

/** @typedef {import('./support/cost.mjs').House} House */
/** @typedef {import('./support/cost.mjs').Cost} Cost */

const CALLERS = 32;
const CALLS = 20_000;
/** src/session/decrypted-records.ts remembers 10,000 at most. */
const MORE_THAN_REMEMBERED = 11_000;
const NEW_SESSIONS = 2_000;
/** Of 900: renewed with the first call. */
const SOON_SPENT_SECONDS = 30;

await measureCalls();

async function measureCalls() {
  const house = await startHouse({ processes: 1 });
  try {
    const few = await enterMany(house, 100);
    const many = await enterMany(house, MORE_THAN_REMEMBERED);
    await callAll(house, few); // until it is warm
    const remembered = await costOf(house, async () => callAll(house, few));
    await callAll(house, many, many.length);
    const forgotten = await costOf(house, async () => callAll(house, many));
    const fresh = await costOfFirstCalls(house);
    await costOfFirstCalls(house, SOON_SPENT_SECONDS); // until it is warm
    const renewing = await costOfFirstCalls(house, SOON_SPENT_SECONDS);
    await house.store.redis.config('SET', 'appendonly', 'yes');
    await settled(house);
    const logged = await costOf(house, async () => callAll(house, few));

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
    await house.stop();
  }
}

/**
 * Several calls each of sessions that are new to the process: with tokens that are soon spent, each is renewed once.
 * @param {House} house
 * @param {number} [leftSeconds]
 */
async function costOfFirstCalls(house, leftSeconds) {
  const cookies = await enterMany(house, NEW_SESSIONS, leftSeconds);
  const due = house.service.refreshes + (leftSeconds === undefined ? 0 : NEW_SESSIONS);
  return costOf(house, async () => {
    await callAll(house, cookies);
    while (house.service.refreshes < due) await delay(50);
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
 * @param {House} house
 * @param {readonly string[]} cookies
 * @param {number} [calls]
 */
async function callAll(house, cookies, calls = CALLS) {
  let next = 0;
  const caller = async () => {
    while (next < calls) await house.call(0, cookies[next++ % cookies.length] ?? '');
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
}
