import { setTimeout as delay } from 'node:timers/promises';
import { request } from 'undici';

/** What goes wrong on purpose, and which answers that explains. */

/** @typedef {import('./house.mjs').House} House */
/** @typedef {import('./ledger.mjs').Ledger} Ledger */
/** @typedef {import('./random.mjs').Random} Random */
/**
 * @typedef {object} Mishap
 * @property {string} name
 * @property {RegExp} allows
 * @property {(house: House) => Promise<unknown> | void} begin
 * @property {number} [lastsMs] without: for as long as `begin` takes
 * @property {(house: House) => Promise<unknown> | void} [end]
 */

const LASTS_MS = 3_000;
/** From the end of a mishap until everything must be as ever. */
const RECOVERY_MS = 8_000;
/** Between two mishaps, in ms. */
const CALM = /** @type {const} */ ([2_000, 6_000]);

const NONE = /^$/;
/** A call whose repetition was refused as well: passed on, or told on a page. */
const REFUSED_TWICE = /^(?:401 passed on|502)$/;
const NO_SERVICE = /^(?:50[0234](?: \w+)?(?: passed on)?|no answer|half an answer|429 \w+)$/;
const NO_TOKEN = /^(?:503 token_endpoint_unavailable|50[23](?: callback)?)$/;
const NO_STORE = /^(?:503(?: session_store_unavailable| login| callback)?|half an answer)$/;

/** @type {readonly Mishap[]} */
const MISHAPS = [
  ofService('lists answer 500', NO_SERVICE, { route: 'any', fault: 'status', status: 500 }),
  ofService('lists are reset', NO_SERVICE, { route: 'workspaces', fault: 'reset-before' }),
  ofService('lists are cut off', NO_SERVICE, { route: 'workspaces', fault: 'cut' }),
  ofService('lists hang', NO_SERVICE, { route: 'workspaces', fault: 'latency', latencyMs: 14_000 }),
  ofService('lists are late', NONE, { route: 'workspaces', fault: 'latency', latencyMs: 500 }),
  ofService('too many requests', /^(?:429 passed on|503)$/, { route: 'workspaces', fault: 'rate-limit' }),
  ofService('access tokens are revoked', REFUSED_TWICE, {
    route: 'workspaces',
    fault: 'access-token-revoked',
    calls: 10,
  }),
  ofService('token endpoint answers 500', NO_TOKEN, { route: 'token', fault: 'status', status: 500 }),
  ofService('token endpoint hangs', NO_TOKEN, { route: 'token', fault: 'latency', latencyMs: 9_000 }),
  ofService('token endpoint is late', NONE, { route: 'token', fault: 'latency', latencyMs: 1_000 }),
  ofService('token answers are lost', NO_TOKEN, { route: 'token', fault: 'reset-after' }),
  {
    name: 'Redis is stopped',
    allows: NO_STORE,
    begin: async (house) => house.pauseStore(),
    lastsMs: LASTS_MS,
    end: async (house) => house.resumeStore(),
  },
  {
    name: 'Redis is killed',
    allows: NO_STORE,
    begin: async (house) => house.killStore(),
    lastsMs: LASTS_MS,
    end: async (house) => house.reviveStore(),
  },
  { name: 'session keys are replaced', allows: NONE, begin: async (house) => house.replaceSessionKeys() },
  // Behind this balancer nobody notices.
  { name: 'a process is replaced', allows: NONE, begin: async (house) => replaceGently(house) },
  {
    name: 'a process is killed',
    allows: /^(?:50[23]|no answer|half an answer|50[23] (?:login|callback))$/,
    begin: async (house) => house.replace(2, 'SIGKILL'),
  },
];

/**
 * One mishap after the other, in an order of chance, for so long.
 * @param {House} house
 * @param {Ledger} ledger
 * @param {Random} random
 * @param {number} ms
 */
export function createMishaps(house, ledger, random, ms) {
  const half = performance.now() + ms / 2;
  const end = performance.now() + ms;
  const all = [...MISHAPS, serviceIsKilled(() => performance.now() > half)];
  const counts = new Map(all.map(({ name }) => [name, 0]));
  return {
    /** How often each has been suffered. */
    counts,
    async suffer() {
      for (;;) {
        for (const mishap of random.shuffle(all)) {
          const takes = (mishap.lastsMs ?? LASTS_MS) + RECOVERY_MS;
          if (performance.now() + takes > end) return;
          await delay(random.between(...CALM));
          await suffer(mishap, house, ledger);
          counts.set(mishap.name, (counts.get(mishap.name) ?? 0) + 1);
        }
      }
    },
  };
}

/**
 * @param {Mishap} mishap
 * @param {House} house
 * @param {Ledger} ledger
 */
async function suffer({ name, allows, begin, lastsMs = 0, end }, house, ledger) {
  const window = ledger.open(name, allows);
  await begin(house);
  await delay(lastsMs);
  await end?.(house);
  window.to = performance.now() + RECOVERY_MS;
}

/**
 * @param {string} name
 * @param {RegExp} allows
 * @param {Record<string, unknown>} fault as the local service's `/_faults` takes it
 * @returns {Mishap}
 */
function ofService(name, allows, fault) {
  /** @param {House} house @param {import('undici').Dispatcher.HttpMethod} method @param {string} [body] */
  const tell = async ({ serviceUrl }, method, body) => {
    const headers = { 'content-type': 'application/json' };
    const answer = await request(`${serviceUrl}/_faults`, { method, headers, ...(body && { body }) });
    const text = await answer.body.text();
    if (answer.statusCode >= 400) throw new Error(`the service takes no such fault: ${text}`);
  };
  return {
    name,
    allows,
    begin: async (house) => tell(house, 'POST', JSON.stringify(fault)),
    lastsMs: LASTS_MS,
    end: async (house) => tell(house, 'DELETE'),
  };
}

/** @param {() => boolean} rotates whether refresh tokens work once from then on */
function serviceIsKilled(rotates) {
  return {
    name: 'service is killed',
    allows: new RegExp(`${NO_SERVICE.source}|${NO_TOKEN.source}|^502 (?:service|callback)$`),
    begin: async (/** @type {House} */ house) => house.killService(),
    lastsMs: LASTS_MS,
    end: async (/** @type {House} */ house) => house.reviveService(rotates()),
  };
}

/** @param {House} house */
async function replaceGently(house) {
  const code = await house.replace(1, 'SIGTERM');
  if (code !== 0) throw new Error(`a process that was asked to end did so with ${code}`);
}
