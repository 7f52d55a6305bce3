import { setTimeout as delay } from 'node:timers/promises';
import { costOf, createSessions, toCommandRows, waitForAofRewrite } from './support/cost.mjs';
import { startTestApp } from './support/deployment.mjs';
import { formatNumber, printTable } from './support/table.mjs';

/**
 * Measures the cost of a request in Redis commands, CPU time (as ratios), and bytes in an append-only file. Also measures the CPU time of a
 * refresh, as a multiple of that of a request.
 */

/** @typedef {import('./support/cost.mjs').TestApp} TestApp */
/** @typedef {import('./support/cost.mjs').Cost} Cost */

const CLIENTS = 32;
const REQUESTS = 20_000;
/** src/session/store.ts caches 10,000 sessions. */
const MORE_THAN_CACHED = 11_000;
const NEW_SESSIONS = 2_000;
/** Tokens are valid for 900 s. The first request refreshes a token with 30 s left. */
const EXPIRING_SECONDS = 30;

await measure();

async function measure() {
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
    await waitForAofRewrite(testApp);
    const logged = await costOf(testApp, async () => sendAll(testApp, few));

    printTable('Redis commands per request', toCommandRows(cached.commands, REQUESTS));
    printTable('CPU time of busy processes', [
      ['', 'ratio'],
      ['request: Cloakroom ÷ Redis', formatNumber(cached.processMs / cached.redisMs)],
      ['request: session not cached ÷ cached', formatNumber(notCached.processMs / cached.processMs)],
      ['request: Redis with an append-only file ÷ without', formatNumber(logged.redisMs / cached.redisMs)],
      ['refresh ÷ request: Cloakroom', formatNumber(refreshRatio(refreshing, fresh, cached, 'processMs'))],
      ['refresh ÷ request: Redis', formatNumber(refreshRatio(refreshing, fresh, cached, 'redisMs'))],
    ]);
    console.log(`\nAppend-only file: ${formatNumber(logged.writtenBytes / REQUESTS)} bytes per request`);
    const perCore = REQUESTS / (cached.processMs / 1_000);
    console.log(
      `Requests per second that fill one core at the machine's current speed: ${formatNumber(perCore)}`,
    );
  } finally {
    await testApp.stop();
  }
}

/**
 * Measures ten requests per session, for many sessions that are not in the cache. The process refreshes each expiring token once.
 * @param {TestApp} testApp
 * @param {number} [leftSeconds]
 */
async function costOfFirstRequests(testApp, leftSeconds) {
  const cookies = await createSessions(testApp, NEW_SESSIONS, leftSeconds);
  const expected = testApp.service.refreshes + (leftSeconds === undefined ? 0 : NEW_SESSIONS);
  return costOf(testApp, async () => {
    await sendAll(testApp, cookies);
    while (testApp.service.refreshes < expected) await delay(50);
    await delay(500); // the last refreshed tokens are still being stored
  });
}

/**
 * Returns the ratio of the CPU time of a refresh to that of a request. Excludes the other requests in the run with refreshes.
 * @param {Cost} refreshing
 * @param {Cost} fresh
 * @param {Cost} requests
 * @param {'processMs' | 'redisMs'} field
 */
function refreshRatio(refreshing, fresh, requests, field) {
  return (refreshing[field] - fresh[field]) / NEW_SESSIONS / (requests[field] / REQUESTS);
}

/**
 * Sends requests from concurrent clients, each of which sends one request at a time. The requests use the sessions in turn.
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
