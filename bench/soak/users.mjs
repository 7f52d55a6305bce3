import { setTimeout as delay } from 'node:timers/promises';
import { ACTIONS } from './actions.mjs';
import { createVisit } from './visit.mjs';

/** @typedef {import('./visit.mjs').VisitSettings} VisitSettings */
/** @typedef {import('./visit.mjs').Visit} Visit */
/** @typedef {import('./random.mjs').Random} Random */

const USER_NAMES = ['demo', 'guest'];
/** Pause between two actions, in ms. */
const PAUSE_MS = /** @type {const} */ ([20, 500]);
const ACTIONS_PER_VISIT = /** @type {const} */ ([10, 80]);
/** Each action, repeated according to its weight. */
const WEIGHTED_ACTIONS = ACTIONS.flatMap((row) => Array.from({ length: row[1] }, () => row));

/**
 * Starts simulated users that visit Cloakroom repeatedly until `stop` is called. Some visits end without a sign-out.
 * @param {VisitSettings} settings
 * @param {number} count
 * @param {Random} random
 */
export function startUsers(settings, count, random) {
  /** Visits that ended without a sign-out. @type {Visit[]} */
  const idleVisits = [];
  const controller = new AbortController();
  const { signal } = controller;
  const runUser = async (/** @type {Random} */ ownRandom) => {
    while (!signal.aborted) {
      const visit = createVisit(settings, ownRandom.pick(USER_NAMES));
      if (await visit.signIn()) await runVisit(visit, ownRandom);
      else await delay(ownRandom.between(500, 1_500)); // a person would not try again immediately
    }
  };
  const runVisit = async (/** @type {Visit} */ visit, /** @type {Random} */ ownRandom) => {
    for (let left = ownRandom.between(...ACTIONS_PER_VISIT); left > 0 && !signal.aborted; left--) {
      const [name, , action] = ownRandom.pick(WEIGHTED_ACTIONS);
      await visit.attempt(name, async () => action(visit, ownRandom));
      if (visit.isLost) return;
      await delay(ownRandom.between(...PAUSE_MS));
    }
    if (ownRandom.chance(0.3)) idleVisits.push(visit);
    else await signOut(visit, ownRandom);
  };
  const signOut = async (/** @type {Visit} */ visit, /** @type {Random} */ ownRandom) => {
    const cookie = visit.cookie();
    // Requests in flight during sign-out must not restore the session.
    const requests = ownRandom.chance(0.5) ? 4 : 0;
    const inFlight = Promise.allSettled(
      Array.from({ length: requests }, async () => visit.send('/workspaces')),
    );
    const hasEnded = await visit.signOut();
    await inFlight;
    if (hasEnded) await visit.expectEnded(cookie);
  };
  const finished = Promise.all(Array.from({ length: count }, async () => runUser(random.fork())));
  return {
    idleVisits,
    /** Resolves when all users have finished. Rejects if this script fails. */
    finished,
    async stop() {
      controller.abort();
      await finished;
    },
  };
}

/**
 * Resolves to the workspace ids of each user. Call this function before the first fault.
 * @param {Omit<VisitSettings, 'idsByUser'>} settings
 * @returns {Promise<Map<string, Set<string>>>}
 */
export async function readIdsByUser(settings) {
  const idsByUser = new Map();
  for (const user of USER_NAMES) {
    const visit = createVisit({ ...settings, idsByUser }, user);
    if (!(await visit.signIn())) throw new Error(`${user} could not sign in.`);
    const { text } = await visit.send('/workspaces.ndjson');
    const ids = text
      .trim()
      .split('\n')
      .map((line) => /** @type {{ id: string }} */ (JSON.parse(line)).id);
    idsByUser.set(user, new Set(ids));
  }
  return idsByUser;
}
