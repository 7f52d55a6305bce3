import { setTimeout as delay } from 'node:timers/promises';
import { costOf, enterMany, settled, toCommandRows } from './support/cost.mjs';
import { startTestApp } from './support/deployment.mjs';
import { figure, printTable } from './support/table.mjs';

/** What a renewal costs Redis, wanted by one process or by two at once: commands, and bytes in an append-only file. */

/** @typedef {import('./support/cost.mjs').TestApp} TestApp */

const RENEWALS = 300;
const RENEW_EVERY_MS = 20;
const TOKEN_LATENCY_MS = 200;
/** Of 900: renewed with the first call. */
const SOON_SPENT_SECONDS = 30;

await measureRenewals(1);
await measureRenewals(2);

/** @param {number} processes that are asked for one session at the same time */
async function measureRenewals(processes) {
  const testApp = await startTestApp({ processes, tokenLatencyMs: TOKEN_LATENCY_MS });
  try {
    await testApp.store.redis.config('SET', 'appendonly', 'yes');
    await settled(testApp);
    await callInTurn(testApp, await enterMany(testApp, RENEWALS, SOON_SPENT_SECONDS)); // until it is warm
    const cookies = await enterMany(testApp, RENEWALS, SOON_SPENT_SECONDS);
    const cost = await costOf(testApp, async () => callInTurn(testApp, cookies));
    const without = await costOf(testApp, async () => callInTurn(testApp, cookies));
    if (testApp.service.refreshes !== 2 * RENEWALS) throw new Error(`${testApp.service.refreshes} renewals`);

    const who = processes === 1 ? '' : ` that ${processes} processes want at once`;
    printTable(
      `Redis commands for one renewal${who}, ${TOKEN_LATENCY_MS} ms at the token endpoint`,
      toCommandRows(cost.commands, RENEWALS, without.commands),
    );
    const bytes = (cost.written - without.written) / RENEWALS;
    console.log(`\nBytes in the append-only file for it: ${figure(bytes)}`);
  } finally {
    await testApp.stop();
  }
}

/**
 * One call of each session to every process at once, at a pace that a renewal beside each can keep up with.
 * @param {TestApp} testApp
 * @param {readonly string[]} cookies
 */
async function callInTurn(testApp, cookies) {
  for (const cookie of cookies) {
    await Promise.all(testApp.processes.map(async (_, at) => testApp.call(at, cookie)));
    await delay(RENEW_EVERY_MS);
  }
  await delay(TOKEN_LATENCY_MS * 2); // they go on beside the calls
}
