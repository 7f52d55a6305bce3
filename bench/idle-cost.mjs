import { requestBytes } from './peers/browser-request.mjs';
import { createCloakroom } from './support/cloakroom.mjs';
import { onMeasuredCore, OTHER_CORE, pinSelf } from './support/cores.mjs';
import { freePort } from './support/free-port.mjs';
import { openIdleConnections } from './support/idle-connections.mjs';
import { createCallers } from './support/load.mjs';
import { familyOf } from './support/processor-time.mjs';
import { startMemoryProbe } from './support/memory-probe.mjs';
import { measureRounds, sumUp, tellQuality } from './support/rounds.mjs';
import { nodeCommand, startProcess } from './support/start-process.mjs';
import { median } from './support/statistics.mjs';
import { startStore } from './support/store.mjs';
import { figure, printTable } from './support/table.mjs';
import { newGrant, OPAQUE } from './support/tokens.mjs';

/**
 * What a call costs Cloakroom beside many sessions that are only kept, and beside many connections that are only open:
 * CPU time for each call as a ratio to a process that has neither. Processes of the same kind differ a little by chance, so that each
 * round has its own; a second one that has neither tells how much is left of that.
 */

const IDLE_CONNECTIONS = 5_000;
const KEPT_SESSIONS = 200_000;
const CALLING_SESSIONS = 8;
/** Commands under way at once: as many as Redis answers long before they count as lost. */
const AT_ONCE = 200;
const ROUNDS = 5;
const SECONDS = 2;
const WARM_UP_MS = 4_000;

pinSelf(OTHER_CORE);
const upstream = startProcess(nodeCommand('bench/support/upstream-process.mjs'), {});
const service = /** @type {{ port: number, body: string }} */ (await upstream.told());
const emptyStore = await startStore({ port: await freePort() });
const fullStore = await startStore({ port: await freePort() });

const emptyHouse = houseOn(emptyStore);
const fullHouse = houseOn(fullStore);
const KINDS = [
  { title: 'neither', house: emptyHouse, connections: 0 },
  { title: 'neither, in another process', house: emptyHouse, connections: 0 },
  { title: `${count(KEPT_SESSIONS)} sessions in Redis`, house: fullHouse, connections: 0 },
  { title: `${count(IDLE_CONNECTIONS)} idle connections`, house: emptyHouse, connections: IDLE_CONNECTIONS },
];
const probe = await startMemoryProbe();
/** CPU time of a call in each round, in ms. */
const costs = KINDS.map(() => /** @type {number[]} */ ([]));
/** @type {import('./support/rounds.mjs').Quality[]} */
const qualities = [];
try {
  await enterMany(fullHouse, KEPT_SESSIONS);
  for (let round = 0; round < ROUNDS; round++) await measureRound(round);
  report();
} finally {
  await probe.stop();
  await upstream.stop();
  await emptyStore.stop();
  await fullStore.stop();
}

/** @param {number} round */
async function measureRound(round) {
  /** @type {Awaited<ReturnType<typeof startSystem>>[]} */
  const systems = [];
  try {
    for (const kind of KINDS) systems.push(await startSystem(kind));
    for (const { callers } of systems) await callers.callFor(WARM_UP_MS);
    /** @type {Awaited<ReturnType<typeof openIdleConnections>>[]} */
    const idle = [];
    for (const { target, connections } of systems)
      if (connections > 0) idle.push(await openIdleConnections(target, connections));
    const { rounds, quality } = await measureRounds({
      systems,
      probe,
      rounds: 1,
      firstTurn: round,
      seconds: SECONDS,
      pids: ({ pids }) => pids,
      helpers: [process.pid, upstream.pid, emptyStore.pid, fullStore.pid],
      prepare: async () => void (await Promise.all(idle.map(async (connections) => connections.keep()))),
      work: async ({ callers }, ms) => callers.callFor(ms),
    });
    for (const connections of idle) connections.close();
    for (const [at, system] of systems.entries()) {
      const { cpuMs, calls } = rounds[0]?.get(system) ?? { cpuMs: NaN, calls: NaN };
      costs[at]?.push(cpuMs / calls);
    }
    qualities.push(quality);
  } finally {
    for (const { callers, started } of systems) {
      callers.close();
      await started.stop();
    }
  }
}

/** @param {Awaited<ReturnType<typeof startStore>>} store */
function houseOn({ url, redis }) {
  return createCloakroom({ upstream: `http://127.0.0.1:${service.port}`, redisUrl: url, redis });
}

/** @param {typeof KINDS[number]} kind */
async function startSystem({ house, connections }) {
  const started = await house.start({ env: { LOG_LEVEL: 'warn' }, wrap: onMeasuredCore });
  const cookies = await enterMany(house, CALLING_SESSIONS);
  const target = {
    port: started.port,
    requests: cookies.map(requestBytes),
    bodyBytes: service.body.length,
  };
  return { connections, started, target, pids: familyOf(started.pid), callers: createCallers(target) };
}

/**
 * Sessions as sign-in writes them, and their `Cookie` headers.
 * @param {ReturnType<typeof createCloakroom>} house
 * @param {number} sessions
 */
async function enterMany(house, sessions) {
  /** @type {string[]} */
  const cookies = [];
  while (cookies.length < sessions) {
    const some = Math.min(AT_ONCE, sessions - cookies.length);
    const enter = async () => house.enter(newGrant(OPAQUE, 14_400));
    cookies.push(...(await Promise.all(Array.from({ length: some }, enter))));
  }
  return cookies;
}

function report() {
  const [none = []] = costs;
  const rows = costs.map((cost, at) => {
    const ratios = cost.map((each, round) => each / (none[round] ?? NaN));
    return [
      KINDS[at]?.title ?? '',
      figure(median(ratios)),
      `${figure(Math.min(...ratios))} – ${figure(Math.max(...ratios))}`,
    ];
  });
  printTable(`CPU time of a call, over ${ROUNDS} rounds`, [['beside', 'ratio', 'min – max'], ...rows]);
  console.log(`\n${tellQuality(sumUp(qualities), probe.bestMs())}`);
}

/** @param {number} value */
function count(value) {
  return value.toLocaleString('en-GB');
}
