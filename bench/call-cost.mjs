import { setTimeout as delay } from 'node:timers/promises';
import { costOf, createSessions, settled, toCommandRows } from './support/cost.mjs';
import { startTestApp } from './support/deployment.mjs';
import { figure, printTable } from './support/table.mjs';

/** What a request costs: Redis commands, CPU time as ratios, bytes in an append-only file; and what a refresh costs in requests. */

/** @typedef {import('./support/cost.mjs').TestApp} TestApp */
/** @typedef {import('./support/cost.mjs').Cost} Cost */

const CLIENTS = 32;
const REQUESTS = 20_000;
/** src/session/store.ts remembers 10,000 at most. */
const MORE_THAN_REMEMBERED = 11_000;
const NEW_SESSIONS = 2_000;
/** Of 900: refreshed with the first request. */
const EXPIRING_SECONDS = 30;

await measureRequests();

async function measureRequests() {
  const testApp = await startTestApp({ processes: 1 });
  try {
    const few = await createSessions(testApp, 100);
    const many = await createSessions(testApp, MORE_THAN_REMEMBERED);
    await sendAll(testApp, few); // until it is warm
    const remembered = await costOf(testApp, async () => sendAll(testApp, few));
    await sendAll(testApp, many, many.length);
    const forgotten = await costOf(testApp, async () => sendAll(testApp, many));
    const fresh = await costOfFirstRequests(testApp);
    await costOfFirstRequests(testApp, EXPIRING_SECONDS); // until it is warm
    const refreshing = await costOfFirstRequests(testApp, EXPIRING_SECONDS);
    await testApp.store.redis.config('SET', 'appendonly', 'yes');
    await settled(testApp);
    const logged = await costOf(testApp, async () => sendAll(testApp, few));

    printTable('Redis commands for one request', toCommandRows(remembered.commands, REQUESTS));
    printTable('CPU time of a busy process', [
      ['', 'ratio'],
      ['request: Cloakroom to Redis', figure(remembered.processMs / remembered.redisMs)],
      ['request: session not remembered to remembered', figure(forgotten.processMs / remembered.processMs)],
      ['request: Redis with an append-only file to one without', figure(logged.redisMs / remembered.redisMs)],
      ['refresh to a request: Cloakroom', figure(extra(refreshing, fresh, remembered, 'processMs'))],
      ['refresh to a request: Redis', figure(extra(refreshing, fresh, remembered, 'redisMs'))],
    ]);
    console.log(`\nBytes in the append-only file for one request: ${figure(logged.written / REQUESTS)}`);
    const perCore = REQUESTS / (remembered.processMs / 1_000);
    console.log(
      `Requests a second that keep one core of this machine busy, as it is now: ${figure(perCore)}`,
    );
  } finally {
    await testApp.stop();
  }
}

/**
 * Several requests each of sessions that are new to the process: with tokens that are soon spent, each is refreshed once.
 * @param {TestApp} testApp
 * @param {number} [leftSeconds]
 */
async function costOfFirstRequests(testApp, leftSeconds) {
  const cookies = await createSessions(testApp, NEW_SESSIONS, leftSeconds);
  const due = testApp.service.refreshes + (leftSeconds === undefined ? 0 : NEW_SESSIONS);
  return costOf(testApp, async () => {
    await sendAll(testApp, cookies);
    while (testApp.service.refreshes < due) await delay(50);
    await delay(500); // the last ones are being stored
  });
}

/**
 * What a refresh costs on top of the requests that it goes on beside, in requests.
 * @param {Cost} refreshing
 * @param {Cost} fresh
 * @param {Cost} requests
 * @param {'processMs' | 'redisMs'} whose
 */
function extra(refreshing, fresh, requests, whose) {
  return (refreshing[whose] - fresh[whose]) / NEW_SESSIONS / (requests[whose] / REQUESTS);
}

/**
 * One request after the other by each of a few clients, who take turns with the sessions.
 * @param {TestApp} testApp
 * @param {readonly string[]} cookies
 * @param {number} [requests]
 */
async function sendAll(testApp, cookies, requests = REQUESTS) {
  let next = 0;
  const client = async () => {
    while (next < requests) await testApp.send(0, cookies[next++ % cookies.length] ?? '');
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
}
