import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { openFiles } from './vitals.mjs';

/** @typedef {import('./deployment.mjs').TestApp} TestApp */
/** @typedef {import('./deployment.mjs').Life} Life */

/** The most open files beyond those at first, once all connections have closed. */
export const FILES_LEFT = 4;
const CLOSED_WITHIN_MS = 90_000;

/**
 * Counts the keys of Redis without a time to live.
 * @param {TestApp} testApp
 */
export async function keysWithoutEnd({ redis }) {
  if (!('scanStream' in redis)) throw new Error('This is for one Redis.');
  let count = 0;
  for await (const keys of redis.scanStream({ count: 500 })) {
    const left = await Promise.all(/** @type {string[]} */ (keys).map(async (key) => redis.ttl(key)));
    count += left.filter((seconds) => seconds === -1).length;
  }
  return count;
}

/**
 * Resolves to the most files that a process has open beyond those at its start, once the number no longer shrinks.
 * @param {TestApp} testApp
 * @param {ReadonlyMap<Life, number>} filesAtFirst
 */
export async function openFilesLeft({ running }, filesAtFirst) {
  const atFirst = Math.min(...filesAtFirst.values());
  const giveUpAt = performance.now() + CLOSED_WITHIN_MS;
  for (;;) {
    const most = Math.max(...running.map(({ pid }) => openFiles(pid) - atFirst));
    if (most <= FILES_LEFT || performance.now() > giveUpAt) return most;
    await delay(500);
  }
}

/** @typedef {{ session: string, begunAt: number, endedAt: number }} Death In ms since the epoch. */

/**
 * Reads from the log the sessions whose refresh token was used by an earlier request with a lost response, and the unexpected errors
 * by message.
 * @param {string} file
 */
export async function readLog(file) {
  /** @type {Death[]} */
  const deaths = [];
  /** @type {Map<string, number>} */
  const errors = new Map();
  for await (const line of createInterface(createReadStream(file))) {
    if (line.includes('"session ended"') && line.includes('"attemptBefore"')) deaths.push(toDeath(line));
    if (!/^.{0,30}"level":"(?:error|fatal)"/.test(line)) continue;
    const { msg, code } = /** @type {{ msg: string, code?: string }} */ (JSON.parse(line));
    if (code !== undefined && code !== 'internal_error') continue; // an outage, as somebody was told
    errors.set(msg, (errors.get(msg) ?? 0) + 1);
  }
  return { deaths, errors };
}

/** @param {string} line */
function toDeath(line) {
  const { session, attemptStartedAt, time } =
    /** @type {{ session: string, attemptStartedAt: string, time: number }} */ (JSON.parse(line));
  return { session, begunAt: Date.parse(attemptStartedAt), endedAt: time };
}

/**
 * Separates the lost sessions that are unavoidable: the log says that an earlier refresh used the session's token, and a mishap
 * that loses tokens happened between that and the session's end.
 * @param {import('./ledger.mjs').Ledger} ledger
 * @param {readonly Death[]} deaths
 */
export function judgeLosses(ledger, deaths) {
  const helpless = new Set(
    deaths
      .map(({ session, ...times }) => ({
        session,
        begunAt: times.begunAt - performance.timeOrigin,
        endedAt: times.endedAt - performance.timeOrigin,
      }))
      .filter(({ begunAt, endedAt }) => ledger.lostTokens(begunAt, endedAt))
      .map(({ session }) => session),
  );
  const lost = ledger.lost.filter(({ session }) => !helpless.has(session));
  return { lost, died: ledger.lost.length - lost.length };
}
