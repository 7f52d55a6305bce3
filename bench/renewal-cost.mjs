import { setTimeout as delay } from 'node:timers/promises';
import { costOf, enterMany, settled, toCommandRows } from './support/cost.mjs';
import { startHouse } from './support/house.mjs';
import { figure, printTable } from './support/table.mjs';

/** What a renewal costs Redis, wanted by one process or by two at once: commands, and bytes in an append-only file. */

/** @typedef {import('./support/cost.mjs').House} House */

const RENEWALS = 300;
const RENEW_EVERY_MS = 20;
const TOKEN_LATENCY_MS = 200;
/** Of 900: renewed with the first call. */
const SOON_SPENT_SECONDS = 30;

await measureRenewals(1);
await measureRenewals(2);

/** @param {number} processes that are asked for one session at the same time */
async function measureRenewals(processes) {
  const house = await startHouse({ processes, tokenLatencyMs: TOKEN_LATENCY_MS });
  try {
    await house.store.redis.config('SET', 'appendonly', 'yes');
    await settled(house);
    await callInTurn(house, await enterMany(house, RENEWALS, SOON_SPENT_SECONDS)); // until it is warm
    const cookies = await enterMany(house, RENEWALS, SOON_SPENT_SECONDS);
    const cost = await costOf(house, async () => callInTurn(house, cookies));
    const without = await costOf(house, async () => callInTurn(house, cookies));
    if (house.service.refreshes !== 2 * RENEWALS) throw new Error(`${house.service.refreshes} renewals`);

    const who = processes === 1 ? '' : ` that ${processes} processes want at once`;
    printTable(
      `Redis commands for one renewal${who}, ${TOKEN_LATENCY_MS} ms at the token endpoint`,
      toCommandRows(cost.commands, RENEWALS, without.commands),
    );
    const bytes = (cost.written - without.written) / RENEWALS;
    console.log(`\nBytes in the append-only file for it: ${figure(bytes)}`);
  } finally {
    await house.stop();
  }
}

/**
 * One call of each session to every process at once, at a pace that a renewal beside each can keep up with.
 * @param {House} house
 * @param {readonly string[]} cookies
 */
async function callInTurn(house, cookies) {
  for (const cookie of cookies) {
    await Promise.all(house.processes.map(async (_, at) => house.call(at, cookie)));
    await delay(RENEW_EVERY_MS);
  }
  await delay(TOKEN_LATENCY_MS * 2); // they go on beside the calls
}
