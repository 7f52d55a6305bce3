import { requestBytes } from './peers/browser-request.mjs';
import { createCloakroom } from './support/cloakroom.mjs';
import { onMeasuredCore, OTHER_CORE, pinSelf } from './support/cores.mjs';
import { freePort } from './support/free-port.mjs';
import { openIdleConnections } from './support/idle-connections.mjs';
import { createCallers } from './support/load.mjs';
import { familyOf } from './support/processor-time.mjs';
import { startMemoryProbe } from './support/memory-probe.mjs';
import { measureRound, sumUp, tellQuality } from './support/rounds.mjs';
import { nodeCommand, startProcess } from './support/start-process.mjs';
import { median } from './support/statistics.mjs';
import { startStore } from './support/store.mjs';
import { figure, printTable } from './support/table.mjs';
import { newGrant, OPAQUE } from './support/tokens.mjs';

/**
 * What a call costs Cloakroom beside many sessions that are only kept, and beside many connections that are only open. Processes of
 * the same kind differ by chance, and the machine from minute to minute: so each is measured before there is anything beside it, and
 * after, and the ratio of the two is divided by that of a process that has nothing beside it either time. A second such process tells
 * how much chance is left.
 */

const IDLE_CONNECTIONS = 5_000;
const KEPT_SESSIONS = 200_000;
const CALLING_SESSIONS = 8;
/** Commands under way at once: as many as Redis answers long before they count as lost. */
const AT_ONCE = 200;
const ROUNDS = 5;
const SECONDS = 1.5;
const WARM_UP_MS = 4_000;

pinSelf(OTHER_CORE);
const upstream = startProcess(nodeCommand('bench/support/upstream-process.mjs'), {});
const service = /** @type {{ port: number, body: string }} */ (await upstream.told());
const emptyStore = await startStore({ port: await freePort() });
const fullStore = await startStore({ port: await freePort() });

const emptyHouse = houseOn(emptyStore);
const fullHouse = houseOn(fullStore);
const KINDS = [
  { title: 'neither', testApp: emptyHouse, connections: 0 },
  { title: 'neither, in another process', testApp: emptyHouse, connections: 0 },
  { title: `${count(KEPT_SESSIONS)} sessions in Redis`, testApp: fullHouse, connections: 0 },
  {
    title: `${count(IDLE_CONNECTIONS)} idle connections`,
    testApp: emptyHouse,
    connections: IDLE_CONNECTIONS,
  },
];
const probe = await startMemoryProbe();
/** In each round: what a call costs after, as a ratio to before, over the same of the first. */
const ratios = KINDS.map(() => /** @type {number[]} */ ([]));
/** @type {import('./support/rounds.mjs').Quality[]} */
const qualities = [];
try {
  for (let round = 0; round < ROUNDS; round++) await runRound(round);
  report();
} finally {
  await probe.stop();
  await upstream.stop();
  await emptyStore.stop();
  await fullStore.stop();
}

/** @param {number} round */
async function runRound(round) {
  /** @type {System[]} */
  const systems = [];
  /** @type {Awaited<ReturnType<typeof openIdleConnections>>[]} */
  const idle = [];
  try {
    for (const kind of KINDS) systems.push(await startSystem(kind));
    for (const { callers } of systems) await callers.callFor(WARM_UP_MS);
    const before = await measure(systems, idle, round);
    await enterMany(fullHouse, KEPT_SESSIONS);
    for (const { target, connections } of systems)
      if (connections > 0) idle.push(await openIdleConnections(target, connections));
    const after = await measure(systems, idle, round);
    const grown = after.map((cost, at) => cost / (before[at] ?? NaN));
    for (const [at, each] of grown.entries()) ratios[at]?.push(each / (grown[0] ?? NaN));
  } finally {
    for (const connections of idle) connections.close();
    for (const { callers, started } of systems) {
      callers.close();
      await started.stop();
    }
    await fullStore.redis.flushall();
  }
}

/**
 * Resolves with the CPU time of a call of each, in ms.
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
      for (const connections of idle) await connections.keep();
    },
    work: async ({ callers }, ms) => callers.callFor(ms),
  });
  qualities.push(quality);
  return measured.map(({ cpuMsPerCall }) => cpuMsPerCall);
}

/** @typedef {Awaited<ReturnType<typeof startSystem>>} System */

/** @param {Awaited<ReturnType<typeof startStore>>} store */
function houseOn({ url, redis }) {
  return createCloakroom({ upstream: `http://127.0.0.1:${service.port}`, redisUrl: url, redis });
}

/** @param {typeof KINDS[number]} kind */
async function startSystem({ testApp, connections }) {
  const started = await testApp.start({ env: { LOG_LEVEL: 'warn' }, wrap: onMeasuredCore });
  const cookies = await enterMany(testApp, CALLING_SESSIONS);
  const target = {
    port: started.port,
    requests: cookies.map(requestBytes),
    bodyBytes: service.body.length,
  };
  return { connections, started, target, pids: familyOf(started.pid), callers: createCallers(target) };
}

/**
 * Sessions as sign-in writes them, and their `Cookie` headers.
 * @param {ReturnType<typeof createCloakroom>} testApp
 * @param {number} sessions
 */
async function enterMany(testApp, sessions) {
  /** @type {string[]} */
  const cookies = [];
  while (cookies.length < sessions) {
    const some = Math.min(AT_ONCE, sessions - cookies.length);
    const enter = async () => testApp.enter(newGrant(OPAQUE, 14_400));
    cookies.push(...(await Promise.all(Array.from({ length: some }, enter))));
  }
  return cookies;
}

function report() {
  const rows = ratios.map((all, at) => [
    KINDS[at]?.title ?? '',
    figure(median(all)),
    `${figure(Math.min(...all))} – ${figure(Math.max(...all))}`,
  ]);
  printTable(`CPU time of a call, over ${ROUNDS} rounds`, [['beside', 'ratio', 'min – max'], ...rows]);
  console.log(`\n${tellQuality(sumUp(qualities), probe.bestMs())}`);
}

/** @param {number} value */
function count(value) {
  return value.toLocaleString('en-GB');
}
