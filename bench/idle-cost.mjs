import { requestBytes } from './peers/browser-request.mjs';
import { createCloakroom } from './support/cloakroom.mjs';
import { onMeasuredCore, OTHER_CORE, pinSelf } from './support/cores.mjs';
import { freePort } from './support/free-port.mjs';
import { openIdleConnections } from './support/idle-connections.mjs';
import { createClients } from './support/load.mjs';
import { processTree } from './support/cpu-time.mjs';
import { startMemoryProbe } from './support/memory-probe.mjs';
import { measureRound, runRounds } from './support/rounds.mjs';
import { nodeCommand, startProcess } from './support/start-process.mjs';
import { median } from './support/statistics.mjs';
import { startStore } from './support/store.mjs';
import { formatNumber, printTable } from './support/table.mjs';
import { newGrant, OPAQUE } from './support/tokens.mjs';

/**
 * Measures how idle sessions in Redis and idle connections change the cost of a request. Identical processes differ by chance, and the
 * speed of the machine changes from minute to minute. The benchmark therefore measures each process before and after adding idle sessions
 * or connections. The benchmark divides each before-and-after ratio by that of a process to which nothing was added. A second process to
 * which nothing was added shows the remaining noise.
 */

const IDLE_CONNECTIONS = 5_000;
const IDLE_SESSIONS = 200_000;
const ACTIVE_SESSIONS = 8;
/** Maximum number of Redis commands in flight, low enough to avoid the command timeout. */
const CONCURRENCY = 200;
const ROUNDS = 5;
const SECONDS = 1.5;
const WARM_UP_MS = 4_000;

pinSelf(OTHER_CORE);
const upstream = startProcess(nodeCommand('bench/support/upstream-process.mjs'), {});
const service = /** @type {{ port: number, body: string }} */ (await upstream.nextMessage());
const emptyStore = await startStore({ port: await freePort() });
const fullStore = await startStore({ port: await freePort() });

const withEmptyStore = cloakroomWith(emptyStore);
const withFullStore = cloakroomWith(fullStore);
const KINDS = [
  { title: 'nothing', testApp: withEmptyStore, connections: 0 },
  { title: 'nothing, second process', testApp: withEmptyStore, connections: 0 },
  { title: `${count(IDLE_SESSIONS)} sessions in Redis`, testApp: withFullStore, connections: 0 },
  {
    title: `${count(IDLE_CONNECTIONS)} idle connections`,
    testApp: withEmptyStore,
    connections: IDLE_CONNECTIONS,
  },
];
const probe = await startMemoryProbe();
/** The cost ratio (after ÷ before) of each entry in KINDS, one per round, relative to that of the first entry. */
const ratios = KINDS.map(() => /** @type {number[]} */ ([]));
await runRounds({ rounds: ROUNDS, runRound, report, probe, started: [upstream, emptyStore, fullStore] });

/** @param {number} round */
async function runRound(round) {
  /** @type {System[]} */
  const systems = [];
  /** @type {Awaited<ReturnType<typeof openIdleConnections>>[]} */
  const idle = [];
  try {
    for (const kind of KINDS) systems.push(await startSystem(kind));
    for (const { clients } of systems) await clients.sendFor(WARM_UP_MS);
    const before = await measure(systems, idle, round);
    await createSessions(withFullStore, IDLE_SESSIONS);
    for (const { target, connections } of systems)
      if (connections > 0) idle.push(await openIdleConnections(target, connections));
    const after = await measure(systems, idle, round);
    const growth = after.costs.map((cost, at) => cost / (before.costs[at] ?? NaN));
    for (const [at, each] of growth.entries()) ratios[at]?.push(each / (growth[0] ?? NaN));
    return [before.quality, after.quality];
  } finally {
    for (const connections of idle) connections.close();
    for (const { clients, started } of systems) {
      clients.close();
      await started.stop();
    }
    await fullStore.redis.flushall();
  }
}

/**
 * Resolves to the CPU time per request for each system, in ms.
 * @param {readonly System[]} systems
 * @param {readonly Awaited<ReturnType<typeof openIdleConnections>>[]} idle
 * @param {number} round
 */
async function measure(systems, idle, round) {
  const { measured, quality } = await measureRound({
    systems,
    probe,
    firstTurn: round,
    seconds: SECONDS,
    pids: ({ pids }) => pids,
    helpers: [process.pid, upstream.pid, emptyStore.pid, fullStore.pid],
    prepare: async () => {
      for (const connections of idle) await connections.keepAlive();
    },
    work: async ({ clients }, ms) => clients.sendFor(ms),
  });
  return { costs: measured.map(({ cpuMsPerRequest }) => cpuMsPerRequest), quality };
}

/** @typedef {Awaited<ReturnType<typeof startSystem>>} System */

/** @param {Awaited<ReturnType<typeof startStore>>} store */
function cloakroomWith({ url, redis }) {
  return createCloakroom({ upstream: `http://127.0.0.1:${service.port}`, redisUrl: url, redis });
}

/** @param {typeof KINDS[number]} kind */
async function startSystem({ testApp, connections }) {
  const started = await testApp.start({ env: { LOG_LEVEL: 'warn' }, wrap: onMeasuredCore });
  const cookies = await createSessions(testApp, ACTIVE_SESSIONS);
  const target = {
    port: started.port,
    requests: cookies.map(requestBytes),
    bodyBytes: service.body.length,
  };
  return { connections, started, target, pids: processTree(started.pid), clients: createClients(target) };
}

/**
 * Creates sessions as sign-in does. Resolves to the `Cookie` headers of the sessions.
 * @param {ReturnType<typeof createCloakroom>} testApp
 * @param {number} sessions
 */
async function createSessions(testApp, sessions) {
  /** @type {string[]} */
  const cookies = [];
  while (cookies.length < sessions) {
    const batch = Math.min(CONCURRENCY, sessions - cookies.length);
    const create = async () => testApp.createSession(newGrant(OPAQUE, 14_400));
    cookies.push(...(await Promise.all(Array.from({ length: batch }, create))));
  }
  return cookies;
}

function report() {
  const rows = ratios.map((all, at) => [
    KINDS[at]?.title ?? '',
    formatNumber(median(all)),
    `${formatNumber(Math.min(...all))} – ${formatNumber(Math.max(...all))}`,
  ]);
  printTable(`CPU time of a request, medians of ${ROUNDS} rounds`, [['with', 'ratio', 'min – max'], ...rows]);
}

/** @param {number} value */
function count(value) {
  return value.toLocaleString('en-GB');
}
