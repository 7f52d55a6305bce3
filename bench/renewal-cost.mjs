import { setTimeout as delay } from 'node:timers/promises';
import { costOf, createSessions, settled, toCommandRows } from './support/cost.mjs';
import { startTestApp } from './support/deployment.mjs';
import { figure, printTable } from './support/table.mjs';

/** Measures the cost of a refresh in Redis (commands, and bytes in an append-only file), by one process or by two at once. */

/** @typedef {import('./support/cost.mjs').TestApp} TestApp */

const REFRESHES = 300;
const REFRESH_EVERY_MS = 20;
const TOKEN_LATENCY_MS = 200;
/** Of 900: the first request refreshes the token. */
const EXPIRING_SECONDS = 30;

await measureRefreshes(1);
await measureRefreshes(2);

/** @param {number} processes that get a request of the same session at the same time */
async function measureRefreshes(processes) {
  const testApp = await startTestApp({ processes, tokenLatencyMs: TOKEN_LATENCY_MS });
  try {
    await testApp.store.redis.config('SET', 'appendonly', 'yes');
    await settled(testApp);
    await sendInTurn(testApp, await createSessions(testApp, REFRESHES, EXPIRING_SECONDS)); // warm-up
    const cookies = await createSessions(testApp, REFRESHES, EXPIRING_SECONDS);
    const cost = await costOf(testApp, async () => sendInTurn(testApp, cookies));
    const without = await costOf(testApp, async () => sendInTurn(testApp, cookies));
    if (testApp.service.refreshes !== 2 * REFRESHES)
      throw new Error(`${testApp.service.refreshes} refreshes`);

    const suffix = processes === 1 ? '' : ` that ${processes} processes need at once`;
    printTable(
      `Redis commands for one refresh${suffix}, ${TOKEN_LATENCY_MS} ms at the token endpoint`,
      toCommandRows(cost.commands, REFRESHES, without.commands),
    );
    const bytes = (cost.written - without.written) / REFRESHES;
    console.log(`\nBytes in the append-only file for it: ${figure(bytes)}`);
  } finally {
    await testApp.stop();
  }
}

/**
 * Sends one request of each session to every process at once, slowly enough for a refresh beside each.
 * @param {TestApp} testApp
 * @param {readonly string[]} cookies
 */
async function sendInTurn(testApp, cookies) {
  for (const cookie of cookies) {
    await Promise.all(testApp.processes.map(async (_, at) => testApp.send(at, cookie)));
    await delay(REFRESH_EVERY_MS);
  }
  await delay(TOKEN_LATENCY_MS * 2); // the refreshes outlast the requests
}
