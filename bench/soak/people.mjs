import { setTimeout as delay } from 'node:timers/promises';
import { DEEDS } from './deeds.mjs';
import { createVisit } from './visit.mjs';

/** @typedef {import('./visit.mjs').Place} Place */
/** @typedef {import('./visit.mjs').Visit} Visit */
/** @typedef {import('./random.mjs').Random} Random */

const USERS = ['demo', 'guest'];
/** Pause between two actions, in ms. */
const PAUSE = /** @type {const} */ ([20, 500]);
const DEEDS_OF_A_VISIT = /** @type {const} */ ([10, 80]);
const LOTTERY = DEEDS.flatMap((row) => Array.from({ length: row[1] }, () => row));

/**
 * Starts users who sign in, act and leave, until they are stopped. Some leave without signing out.
 * @param {Place} place
 * @param {number} count
 * @param {Random} random
 */
export function startPeople(place, count, random) {
  /** Sessions of users who have left without signing out. @type {Visit[]} */
  const asleep = [];
  const over = new AbortController();
  const live = async (/** @type {Random} */ own) => {
    while (!over.signal.aborted) {
      const visit = createVisit(place, own.pick(USERS));
      if (await visit.signIn()) await stay(visit, own);
      else await delay(own.between(500, 1_500)); // as a person would, before trying again
    }
  };
  const stay = async (/** @type {Visit} */ visit, /** @type {Random} */ own) => {
    for (let left = own.between(...DEEDS_OF_A_VISIT); left > 0 && !over.signal.aborted; left--) {
      const [name, , deed] = own.pick(LOTTERY);
      await visit.try(name, async () => deed(visit, own));
      if (visit.isLost) return;
      await delay(own.between(...PAUSE));
    }
    if (own.chance(0.3)) asleep.push(visit);
    else await leave(visit, own);
  };
  const leave = async (/** @type {Visit} */ visit, /** @type {Random} */ own) => {
    const cookie = visit.cookie();
    // Requests in flight at the sign-out must not bring the session back.
    const requests = own.chance(0.5) ? 4 : 0;
    const inFlight = Promise.allSettled(
      Array.from({ length: requests }, async () => visit.send('/workspaces')),
    );
    const isEnded = await visit.signOut();
    await inFlight;
    if (isEnded) await visit.expectEnded(cookie);
  };
  const all = Promise.all(Array.from({ length: count }, async () => live(random.fork())));
  return {
    asleep,
    /** Resolves when all users have left; rejects with a failure of this script. */
    gone: all,
    async stop() {
      over.abort();
      await all;
    },
  };
}

/**
 * Reads the workspaces of each user while nothing is broken.
 * @param {Omit<Place, 'itemsOf'>} place
 * @returns {Promise<Map<string, Set<string>>>}
 */
export async function readItems(place) {
  const itemsOf = new Map();
  for (const user of USERS) {
    const visit = createVisit({ ...place, itemsOf }, user);
    if (!(await visit.signIn())) throw new Error(`${user} could not sign in.`);
    const { text } = await visit.send('/workspaces.ndjson');
    const ids = text
      .trim()
      .split('\n')
      .map((line) => /** @type {{ id: string }} */ (JSON.parse(line)).id);
    itemsOf.set(user, new Set(ids));
  }
  return itemsOf;
}
