import { setTimeout as delay } from 'node:timers/promises';
import { costOf, createSessions, toCommandRows, waitForAofRewrite } from './support/cost.mjs';
import { startTestApp } from './support/deployment.mjs';
import { formatNumber, printTable } from './support/table.mjs';

/** Measures Redis commands and append-only file growth per refresh, first with requests to one process, then to two simultaneously. */

/** @typedef {import('./support/cost.mjs').TestApp} TestApp */

const REFRESHES = 300;
const REFRESH_EVERY_MS = 20;
const TOKEN_LATENCY_MS = 200;
/** Tokens are valid for 900 s. The first request refreshes a token with 30 s left. */
const EXPIRING_SECONDS = 30;

await measureRefreshes(1);
await measureRefreshes(2);

/** @param {number} processes the number of processes that receive a request with the same session at the same time */
async function measureRefreshes(processes) {
  const testApp = await startTestApp({ processes, tokenLatencyMs: TOKEN_LATENCY_MS });
  try {
    await testApp.store.redis.config('SET', 'appendonly', 'yes');
    await waitForAofRewrite(testApp);
    await sendInTurn(testApp, await createSessions(testApp, REFRESHES, EXPIRING_SECONDS)); // warm-up
    const cookies = await createSessions(testApp, REFRESHES, EXPIRING_SECONDS);
    const cost = await costOf(testApp, async () => sendInTurn(testApp, cookies));
    const without = await costOf(testApp, async () => sendInTurn(testApp, cookies));
    if (testApp.service.refreshes !== 2 * REFRESHES)
      throw new Error(`Expected ${2 * REFRESHES} refreshes, got ${testApp.service.refreshes}.`);

    const suffix = processes === 1 ? '' : ` in ${processes} processes at the same time`;
    printTable(
      `Redis commands per refresh${suffix}, token endpoint latency ${TOKEN_LATENCY_MS} ms`,
      toCommandRows(cost.commands, REFRESHES, without.commands),
    );
    const bytes = (cost.writtenBytes - without.writtenBytes) / REFRESHES;
    console.log(`\nAppend-only file: ${formatNumber(bytes)} bytes per refresh`);
  } finally {
    await testApp.stop();
  }
}

/**
 * For each session in turn, sends one request to every process at the same time, then pauses so that the refresh can start.
 * @param {TestApp} testApp
 * @param {readonly string[]} cookies
 */
async function sendInTurn(testApp, cookies) {
  for (const cookie of cookies) {
    await Promise.all(testApp.processes.map(async (_, at) => testApp.send(at, cookie)));
    await delay(REFRESH_EVERY_MS);
  }
  await delay(TOKEN_LATENCY_MS * 2); // the last refreshes finish after their requests
}
