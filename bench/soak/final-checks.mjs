import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { countOpenFiles } from './process-health.mjs';

/** Checks after the last action in a run: Redis keys, open files and logs. */

/** @typedef {import('./deployment.mjs').TestApp} TestApp */
/** @typedef {import('./deployment.mjs').AppProcess} AppProcess */

/** The maximum number of open files beyond those at the start, once all connections have closed. */
export const MAX_EXTRA_FILES = 4;
const CLOSE_TIMEOUT_MS = 90_000;

/**
 * Counts the Redis keys without a time to live.
 * @param {TestApp} testApp
 */
export async function countKeysWithoutTtl({ redis }) {
  if (!('scanStream' in redis)) throw new Error('A Redis Cluster is not supported.');
  let count = 0;
  for await (const keys of redis.scanStream({ count: 500 })) {
    const ttls = await Promise.all(/** @type {string[]} */ (keys).map(async (key) => redis.ttl(key)));
    count += ttls.filter((seconds) => seconds === -1).length;
  }
  return count;
}

/**
 * Waits until connections have closed. Resolves to the maximum number of files that a process has open beyond those at the start.
 * @param {TestApp} testApp
 * @param {ReadonlyMap<AppProcess, number>} filesAtStart
 */
export async function countExtraFiles({ running }, filesAtStart) {
  const expected = Math.min(...filesAtStart.values());
  const giveUpAt = performance.now() + CLOSE_TIMEOUT_MS;
  for (;;) {
    const extra = Math.max(...running.map(({ pid }) => countOpenFiles(pid) - expected));
    if (extra <= MAX_EXTRA_FILES || performance.now() > giveUpAt) return extra;
    await delay(500);
  }
}

/**
 * A session that ended because the response to an earlier refresh was lost after the service had accepted the refresh token.
 * @typedef {object} UsedToken
 * @property {string} session the log id of the session
 * @property {number} usedAt the start of the earlier refresh, in ms since the epoch
 * @property {number} endedAt the end of the session, in ms since the epoch
 */

/**
 * Reads from the log the sessions that ended because of a used refresh token and counts the unexpected errors by message.
 * @param {string} file
 */
export async function readLog(file) {
  /** @type {UsedToken[]} */
  const usedTokens = [];
  /** @type {Map<string, number>} */
  const errors = new Map();
  for await (const line of createInterface(createReadStream(file))) {
    if (line.includes('"session ended"') && line.includes('"attemptBefore"'))
      usedTokens.push(toUsedToken(line));
    if (!/^.{0,30}"level":"(?:error|fatal)"/.test(line)) continue;
    const { msg, code } = /** @type {{ msg: string, code?: string }} */ (JSON.parse(line));
    if (code !== undefined && code !== 'internal_error') continue; // results.mjs has the response with this code
    errors.set(msg, (errors.get(msg) ?? 0) + 1);
  }
  return { usedTokens, errors };
}

/**
 * @param {string} line
 * @returns {UsedToken}
 */
function toUsedToken(line) {
  const { session, attemptStartedAt, time } =
    /** @type {{ session: string, attemptStartedAt: string, time: number }} */ (JSON.parse(line));
  return { session, usedAt: Date.parse(attemptStartedAt), endedAt: time };
}

/**
 * Separates unavoidably lost sessions from other lost sessions. A loss is unavoidable if the session ended because of a used refresh token.
 * In addition, a fault that loses tokens must have been active between the earlier refresh and the end of the session.
 * @param {import('./results.mjs').Results} results
 * @param {readonly UsedToken[]} usedTokens
 */
export function classifyLosses(results, usedTokens) {
  const unavoidable = new Set(
    usedTokens
      .map(({ session, ...times }) => ({
        session,
        usedAt: times.usedAt - performance.timeOrigin,
        endedAt: times.endedAt - performance.timeOrigin,
      }))
      .filter(({ usedAt, endedAt }) => results.mayLoseTokens(usedAt, endedAt))
      .map(({ session }) => session),
  );
  const lost = results.lostSessions.filter(({ session }) => !unavoidable.has(session));
  return { lost, unavoidable: results.lostSessions.length - lost.length };
}
