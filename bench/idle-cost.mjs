import { requestBytes } from './peers/browser-request.mjs';
import { createCloakroom } from './support/cloakroom.mjs';
import { onMeasuredCore, OTHER_CORE, pinSelf } from './support/cores.mjs';
import { freePort } from './support/free-port.mjs';
import { openIdleConnections } from './support/idle-connections.mjs';
import { createCallers } from './support/load.mjs';
import { familyOf } from './support/processor-time.mjs';
import { measureRounds, tellQuality } from './support/rounds.mjs';
import { nodeCommand, startProcess } from './support/start-process.mjs';
import { median } from './support/statistics.mjs';
import { startStore } from './support/store.mjs';
import { figure, printTable } from './support/table.mjs';
import { newGrant, OPAQUE } from './support/tokens.mjs';

/**
 * What a call costs Cloakroom beside many sessions that are only kept, and beside many connections that are only open:
 * CPU time for each call as a ratio to a process that has neither. Processes of the same kind differ a little by chance:
 * a second one that has neither tells how much.
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
const none = await startSystem('neither', emptyHouse);
const noneAgain = await startSystem('neither, in another process', emptyHouse);
const kept = await startSystem(`${count(KEPT_SESSIONS)} sessions in Redis`, fullHouse);
const open = await startSystem(`${count(IDLE_CONNECTIONS)} idle connections`, emptyHouse);
const systems = [none, noneAgain, kept, open];
try {
  await enterMany(fullHouse, KEPT_SESSIONS);
  for (const { callers } of systems) await callers.callFor(WARM_UP_MS);
  const idle = await openIdleConnections(open.target, IDLE_CONNECTIONS);
  const { rounds, quality } = await measureRounds({
    systems,
    rounds: ROUNDS,
    seconds: SECONDS,
    pids: ({ pids }) => pids,
    helpers: [process.pid, upstream.pid, emptyStore.pid, fullStore.pid],
    prepare: async () => idle.keep(),
    work: async ({ callers }, ms) => callers.callFor(ms),
  });
  idle.close();
  report(rounds, quality);
} finally {
  for (const { callers, started } of systems) {
    callers.close();
    await started.stop();
  }
  await upstream.stop();
  await emptyStore.stop();
  await fullStore.stop();
}

/** @param {Awaited<ReturnType<typeof startStore>>} store */
function houseOn({ url, redis }) {
  return createCloakroom({ upstream: `http://127.0.0.1:${service.port}`, redisUrl: url, redis });
}

/**
 * @param {string} title
 * @param {ReturnType<typeof createCloakroom>} house
 */
async function startSystem(title, house) {
  const started = await house.start({ env: { LOG_LEVEL: 'warn' }, wrap: onMeasuredCore });
  const cookies = await enterMany(house, CALLING_SESSIONS);
  const target = {
    port: started.port,
    requests: cookies.map(requestBytes),
    bodyBytes: service.body.length,
  };
  return { title, started, target, pids: familyOf(started.pid), callers: createCallers(target) };
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

/**
 * @param {Awaited<ReturnType<typeof measureRounds<typeof none>>>['rounds']} rounds
 * @param {import('./support/rounds.mjs').Quality} quality
 */
function report(rounds, quality) {
  const rows = systems.map((system) => {
    const ratios = rounds.map((round) => costIn(round, system) / costIn(round, none));
    return [
      system.title,
      figure(median(ratios)),
      `${figure(Math.min(...ratios))} – ${figure(Math.max(...ratios))}`,
    ];
  });
  printTable(`CPU time of a call, over ${ROUNDS} rounds`, [['beside', 'ratio', 'min – max'], ...rows]);
  console.log(`\n${tellQuality(quality)}`);
}

/**
 * @param {Map<typeof none, import('./support/rounds.mjs').Measured>} round
 * @param {typeof none} system
 */
function costIn(round, system) {
  const { cpuMs, calls } = round.get(system) ?? { cpuMs: NaN, calls: NaN };
  return cpuMs / calls;
}

/** @param {number} value */
function count(value) {
  return value.toLocaleString('en-GB');
}
