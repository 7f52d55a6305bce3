import { setTimeout as delay } from 'node:timers/promises';
import { costOf, createSessions, settled, toCommandRows } from './support/cost.mjs';
import { startTestApp } from './support/deployment.mjs';
import { figure, printTable } from './support/table.mjs';

/** Measures the cost of a request (Redis commands, CPU time as ratios, bytes in an append-only file) and of a refresh (in requests). */

/** @typedef {import('./support/cost.mjs').TestApp} TestApp */
/** @typedef {import('./support/cost.mjs').Cost} Cost */

const CLIENTS = 32;
const REQUESTS = 20_000;
/** More than the 10,000 that src/session/store.ts caches. */
const MORE_THAN_CACHED = 11_000;
const NEW_SESSIONS = 2_000;
/** Of 900: the first request refreshes the token. */
const EXPIRING_SECONDS = 30;

await measureRequests();

async function measureRequests() {
  const testApp = await startTestApp({ processes: 1 });
  try {
    const few = await createSessions(testApp, 100);
    const many = await createSessions(testApp, MORE_THAN_CACHED);
    await sendAll(testApp, few); // warm-up
    const cached = await costOf(testApp, async () => sendAll(testApp, few));
    await sendAll(testApp, many, many.length);
    const notCached = await costOf(testApp, async () => sendAll(testApp, many));
    const fresh = await costOfFirstRequests(testApp);
    await costOfFirstRequests(testApp, EXPIRING_SECONDS); // warm-up
    const refreshing = await costOfFirstRequests(testApp, EXPIRING_SECONDS);
    await testApp.store.redis.config('SET', 'appendonly', 'yes');
    await settled(testApp);
    const logged = await costOf(testApp, async () => sendAll(testApp, few));

    printTable('Redis commands for one request', toCommandRows(cached.commands, REQUESTS));
    printTable('CPU time of a busy process', [
      ['', 'ratio'],
      ['request: Cloakroom to Redis', figure(cached.processMs / cached.redisMs)],
      ['request: session not cached to cached', figure(notCached.processMs / cached.processMs)],
      ['request: Redis with an append-only file to one without', figure(logged.redisMs / cached.redisMs)],
      ['refresh to a request: Cloakroom', figure(extra(refreshing, fresh, cached, 'processMs'))],
      ['refresh to a request: Redis', figure(extra(refreshing, fresh, cached, 'redisMs'))],
    ]);
    console.log(`\nBytes in the append-only file for one request: ${figure(logged.written / REQUESTS)}`);
    const perCore = REQUESTS / (cached.processMs / 1_000);
    console.log(
      `Requests a second that keep one core of this machine busy, as it is now: ${figure(perCore)}`,
    );
  } finally {
    await testApp.stop();
  }
}

/**
 * Sends several requests with each of many sessions that are new to the process. Expiring tokens are each refreshed once.
 * @param {TestApp} testApp
 * @param {number} [leftSeconds]
 */
async function costOfFirstRequests(testApp, leftSeconds) {
  const cookies = await createSessions(testApp, NEW_SESSIONS, leftSeconds);
  const due = testApp.service.refreshes + (leftSeconds === undefined ? 0 : NEW_SESSIONS);
  return costOf(testApp, async () => {
    await sendAll(testApp, cookies);
    while (testApp.service.refreshes < due) await delay(50);
    await delay(500); // until the last ones are stored
  });
}

/**
 * Returns the cost of a refresh beyond the requests that run beside it, in requests.
 * @param {Cost} refreshing
 * @param {Cost} fresh
 * @param {Cost} requests
 * @param {'processMs' | 'redisMs'} what
 */
function extra(refreshing, fresh, requests, what) {
  return (refreshing[what] - fresh[what]) / NEW_SESSIONS / (requests[what] / REQUESTS);
}

/**
 * Sends requests from a few clients, one at a time each, with the sessions in turn.
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
