import { setMaxListeners } from 'node:events';
import { availableParallelism, loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { startTestApp } from './support/deployment.mjs';
import { figure, printTable } from './support/table.mjs';

/**
 * Nobody waits: requests that are made while their token is being refreshed, and those that are first with the new one,
 * beside requests of the same sessions in the same seconds that come nowhere near an expiry.
 */

const TOKEN_SECONDS = 6;
/** REFRESH_AHEAD_SECONDS is 60, and held to a third of a token's life. */
const AHEAD_MS = (TOKEN_SECONDS * 1_000) / 3;
const TOKEN_LATENCY_MS = 500;
const WARM_UP_MS = 6_000;
const PARTS = 5;
const PART_MS = 12_000;
/** They request all the time: two processes are far from busy with them. */
const USERS = 60;
const REQUEST_EVERY_MS = 250;
/** They come back after their token is spent. */
const RETURNERS = 60;
const RETURN_EVERY_MS = TOKEN_SECONDS * 1_000 + 1_000;

/** @typedef {'away' | 'crossing' | 'expired'} Kind */
/** @typedef {{ kind: Kind, ms: number, at: number }} Sample */

const testApp = await startTestApp({
  processes: 2,
  tokenSeconds: TOKEN_SECONDS,
  tokenLatencyMs: TOKEN_LATENCY_MS,
});
try {
  const samples = await measure();
  report(samples);
  warnIfBusy();
} finally {
  await testApp.stop();
}

async function measure() {
  const over = new AbortController();
  setMaxListeners(0, over.signal);
  /** @type {Sample[]} */
  const samples = [];
  /** @type {Promise<void>[]} */
  const underWay = [];
  const began = performance.now();

  /** @param {number} everyMs */
  const live = async (everyMs) => {
    // Entered a while ago, each at another time: or all would refresh in step.
    const leftSeconds = TOKEN_SECONDS * (0.4 + 0.6 * Math.random());
    const cookie = await testApp.createSession(leftSeconds);
    let expiresAt = Date.now() + leftSeconds * 1_000;
    const ask = async () => {
      const leftMs = expiresAt - Date.now();
      const before = performance.now();
      const response = await testApp.send(Math.random() < 0.5 ? 0 : 1, cookie);
      const isNew = response.expiresAt > expiresAt;
      expiresAt = Math.max(expiresAt, response.expiresAt);
      const at = before - began - WARM_UP_MS;
      if (at >= 0) samples.push({ kind: kindOf(leftMs, isNew), ms: performance.now() - before, at });
    };
    await pause(Math.random() * everyMs);
    // At its own pace, whatever becomes of the requests before: one that waits must not hold the next ones back.
    while (!over.signal.aborted) {
      underWay.push(ask());
      await pause(everyMs * (0.5 + Math.random()));
    }
  };
  /** @param {number} ms */
  const pause = async (ms) => delay(ms, undefined, { signal: over.signal }).catch(() => {});

  const lives = [
    ...Array.from({ length: USERS }, async () => live(REQUEST_EVERY_MS)),
    ...Array.from({ length: RETURNERS }, async () => live(RETURN_EVERY_MS * 1.5)),
  ];
  await delay(WARM_UP_MS + PARTS * PART_MS);
  over.abort();
  await Promise.all(lives);
  await Promise.all(underWay);
  return samples;
}

/**
 * @param {number} leftMs of the token that was last seen
 * @param {boolean} isNew whether the response came with another one
 * @returns {Kind}
 */
function kindOf(leftMs, isNew) {
  if (leftMs <= 0) return 'expired';
  return isNew || leftMs <= AHEAD_MS ? 'crossing' : 'away';
}

/** @param {readonly Sample[]} samples */
function report(samples) {
  /** @type {Record<Kind, string>} */
  const names = {
    away: 'away from an expiry',
    crossing: 'crossing an expiry, refreshed beside it',
    expired: 'after an expiry, token expired: must wait',
  };
  const rows = Object.entries(names).map(([kind, name]) => {
    const mine = samples.filter((sample) => sample.kind === kind);
    const away = samples.filter((sample) => sample.kind === 'away');
    const ofParts = Array.from({ length: PARTS }, (_, part) => {
      const isInPart = (/** @type {Sample} */ { at }) => Math.floor(at / PART_MS) === part;
      return percentile(mine.filter(isInPart), 0.99) / percentile(away.filter(isInPart), 0.99);
    });
    return [
      name,
      mine.length.toLocaleString('en-GB'),
      figure(percentile(mine, 0.5) / percentile(away, 0.5)),
      figure(percentile(mine, 0.99) / percentile(away, 0.99)),
      `${figure(Math.min(...ofParts))} – ${figure(Math.max(...ofParts))}`,
    ];
  });
  printTable(
    `Time of a request as a ratio to requests away from an expiry: ${testApp.service.refreshes} refreshes, each ${TOKEN_LATENCY_MS} ms at ` +
      'the token endpoint, two processes',
    [['requests', 'count', 'p50 ratio', 'p99 ratio', `p99 in ${PARTS} parts of the run`], ...rows],
  );
}

/** Requests that queue for a processor cross an expiry because they are late, and not the other way round. */
function warnIfBusy() {
  const [load = 0] = loadavg();
  if (load <= availableParallelism()) return;
  console.log(
    `\nThe machine is busy (load ${figure(load)}): these ratios say little. Run it again by itself.`,
  );
}

/**
 * @param {readonly Sample[]} samples
 * @param {number} share
 */
function percentile(samples, share) {
  const sorted = Float64Array.from(samples, ({ ms }) => ms).toSorted();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}
