import { setMaxListeners } from 'node:events';
import { availableParallelism, loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { startTestApp } from './support/deployment.mjs';
import { formatNumber, printTable } from './support/table.mjs';

/**
 * Measures the latency of requests near the expiry of their access token, relative to the latency of other requests in the same period. A
 * background refresh must not delay requests.
 */

const TOKEN_SECONDS = 6;
/** Cloakroom limits REFRESH_AHEAD_SECONDS to a third of the token's lifetime. */
const AHEAD_MS = (TOKEN_SECONDS * 1_000) / 3;
const TOKEN_LATENCY_MS = 500;
const WARM_UP_MS = 6_000;
const PARTS = 5;
const PART_MS = 12_000;
/** Number of users who send requests continuously, low enough to leave two processes mostly idle. */
const ACTIVE_USERS = 60;
const REQUEST_EVERY_MS = 250;
/** Number of users who return after their token has expired. */
const RETURNING_USERS = 60;
const RETURN_EVERY_MS = TOKEN_SECONDS * 1_000 + 1_000;

/** @typedef {'far' | 'crossing' | 'expired'} Kind */
/** @typedef {{ kind: Kind, ms: number, at: number }} Sample `at` in ms since the end of the warm-up */

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
  const inFlight = [];
  const began = performance.now();

  /** @param {number} everyMs */
  const use = async (everyMs) => {
    // Start with tokens of different ages, so that not all users refresh at the same time.
    const leftSeconds = TOKEN_SECONDS * (0.4 + 0.6 * Math.random());
    const cookie = await testApp.createSession(leftSeconds);
    let expiresAt = Date.now() + leftSeconds * 1_000;
    const send = async () => {
      const leftMs = expiresAt - Date.now();
      const before = performance.now();
      const response = await testApp.send(Math.random() < 0.5 ? 0 : 1, cookie);
      const isNew = response.expiresAt > expiresAt;
      expiresAt = Math.max(expiresAt, response.expiresAt);
      const at = before - began - WARM_UP_MS;
      if (at >= 0) samples.push({ kind: kindOf(leftMs, isNew), ms: performance.now() - before, at });
    };
    await pause(Math.random() * everyMs);
    // Don't wait for the response, because a slow request must not delay the following requests.
    while (!over.signal.aborted) {
      inFlight.push(send());
      await pause(everyMs * (0.5 + Math.random()));
    }
  };
  /** @param {number} ms */
  const pause = async (ms) => delay(ms, undefined, { signal: over.signal }).catch(() => {});

  const users = [
    ...Array.from({ length: ACTIVE_USERS }, async () => use(REQUEST_EVERY_MS)),
    ...Array.from({ length: RETURNING_USERS }, async () => use(RETURN_EVERY_MS * 1.5)),
  ];
  await delay(WARM_UP_MS + PARTS * PART_MS);
  over.abort();
  await Promise.all(users);
  await Promise.all(inFlight);
  return samples;
}

/**
 * @param {number} leftMs until the last known token of the session expires
 * @param {boolean} isNew whether the service received a different token
 * @returns {Kind}
 */
function kindOf(leftMs, isNew) {
  if (leftMs <= 0) return 'expired';
  return isNew || leftMs <= AHEAD_MS ? 'crossing' : 'far';
}

/** @param {readonly Sample[]} samples */
function report(samples) {
  /** @type {Record<Kind, string>} */
  const names = {
    far: 'not near an expiry',
    crossing: 'near an expiry, refreshed in the background',
    expired: 'after an expiry, waiting for the refresh',
  };
  const rows = Object.entries(names).map(([kind, name]) => {
    const ofKind = samples.filter((sample) => sample.kind === kind);
    const far = samples.filter((sample) => sample.kind === 'far');
    const ofParts = Array.from({ length: PARTS }, (_, part) => {
      const isInPart = (/** @type {Sample} */ { at }) => Math.floor(at / PART_MS) === part;
      return percentile(ofKind.filter(isInPart), 0.99) / percentile(far.filter(isInPart), 0.99);
    });
    return [
      name,
      ofKind.length.toLocaleString('en-GB'),
      formatNumber(percentile(ofKind, 0.5) / percentile(far, 0.5)),
      formatNumber(percentile(ofKind, 0.99) / percentile(far, 0.99)),
      `${formatNumber(Math.min(...ofParts))} – ${formatNumber(Math.max(...ofParts))}`,
    ];
  });
  printTable(
    'Request latency as a ratio to requests not near an expiry: two processes, ' +
      `${testApp.service.refreshes} refreshes, token endpoint latency ${TOKEN_LATENCY_MS} ms`,
    [['requests', 'count', 'p50 ratio', 'p99 ratio', `p99 ratio in ${PARTS} parts of the run`], ...rows],
  );
}

/** Warns if the machine is busy, because other delays may then push requests past the token's expiry. */
function warnIfBusy() {
  const [load = 0] = loadavg();
  if (load <= availableParallelism()) return;
  console.log(
    `\nThe machine is busy (load ${formatNumber(load)}), so these ratios say little. Run the benchmark again when it is idle.`,
  );
}

/**
 * @param {readonly Sample[]} samples
 * @param {number} rank from 0 to 1
 */
function percentile(samples, rank) {
  const sorted = Float64Array.from(samples, ({ ms }) => ms).toSorted();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * rank))] ?? NaN;
}
