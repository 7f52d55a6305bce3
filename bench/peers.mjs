import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { requestBytes } from './peers/browser-request.mjs';
import { verifySystem } from './peers/verify-system.mjs';
import { readOptions } from './peers/options.mjs';
import { describeMachine, toMarkdown, toSpread, versionsOf } from './peers/report.mjs';
import { OTHER_CORE, pinSelf } from './support/cores.mjs';
import { freePort } from './support/free-port.mjs';
import { sendWithPauses, createClients } from './support/load.mjs';
import { processTree } from './support/cpu-time.mjs';
import { startMemoryProbe } from './support/memory-probe.mjs';
import { measureRound, totalQuality } from './support/rounds.mjs';
import { nodeCommand, startProcess } from './support/start-process.mjs';
import { median } from './support/statistics.mjs';
import { startStore } from './support/store.mjs';
import { newGrant, OPAQUE } from './support/tokens.mjs';

/**
 * Compares Cloakroom with peers that replace a session cookie with the session's token and forward the request to a service. All systems
 * use the same Redis (over TCP) and the same service, which responds with 8 KB of JSON. The load uses browser headers, eight sessions and
 * 32 keep-alive connections.
 *
 * The main result is the CPU time (user and system) per request across all processes of a system, relative to (a), the bare pass-through.
 * The measured system has one core to itself. The load generator, Redis and the service share another core. The systems take short turns,
 * in a different order each round. Each round starts new processes. At light load, the benchmark then measures the median latency that each
 * system adds over (a). The names of the systems are in peers/systems.mjs.
 *
 * Usage: `npm run bench -- peers [--only a,cloakroom] [--rounds 5] [--seconds 3] [--json FILE] [--cpu-prof FOLDER]`. `--cpu-prof` writes
 * CPU profiles of (a) and Cloakroom. Profiling distorts the results.
 */

const SESSIONS = 8;
const WARM_UP_MS = 3_000;
const LIGHT_TURNS = 8;
/** The first requests of each turn are not counted, because they refill the CPU caches after the turns of the other systems. */
const LIGHT_WARM_UP_REQUESTS = 20;
const LIGHT_REQUESTS = 80;
const LIGHT_EVERY_MS = 4;

/**
 * @typedef {object} Running
 * @property {import('./peers/systems.mjs').Kind} kind
 * @property {import('./peers/systems.mjs').System} system
 * @property {number[]} pids
 * @property {import('./support/load.mjs').Target} target
 * @property {ReturnType<typeof createClients>} clients
 */
/**
 * The measurements of a system, one per round.
 * @typedef {object} Measured
 * @property {import('./peers/systems.mjs').Kind} kind
 * @property {number[]} cpuMs CPU time per request
 * @property {number[]} busy the fraction of its core that the system used
 * @property {number[]} addedMs the median latency that the system adds over (a) at light load
 */

const options = readOptions();
pinSelf(OTHER_CORE);
const folder = mkdtempSync(join(tmpdir(), 'cloakroom-bench-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));

const upstream = startProcess(nodeCommand('bench/support/upstream-process.mjs'), {});
const store = await startStore({ port: await freePort() });
const probe = await startMemoryProbe();
/** @type {Map<string, Measured>} */
const rounds = new Map(options.kinds.map((kind) => [kind.name, { kind, cpuMs: [], busy: [], addedMs: [] }]));
/** @type {import('./support/rounds.mjs').Quality[]} */
const qualities = [];
try {
  const settings = await prepareSettings();
  for (let round = 0; round < options.rounds; round++) {
    process.stderr.write(`round ${round + 1} of ${options.rounds} …\n`);
    await runRound(settings, round);
  }
  report();
} finally {
  await probe.stop();
  await upstream.stop();
  await store.stop();
}

async function prepareSettings() {
  const { port, body } = /** @type {{ port: number, body: string }} */ (await upstream.nextMessage());
  if (options.profiles !== undefined) mkdirSync(options.profiles, { recursive: true });
  return {
    upstream: `http://127.0.0.1:${port}`,
    body,
    redisUrl: store.url,
    redis: store.redis,
    folder,
    grants: Array.from({ length: SESSIONS }, () => newGrant(OPAQUE, 14_400)),
    profiles: options.profiles && resolve(options.profiles),
  };
}

/**
 * Measures all systems in new processes. Two processes with the same code can differ in speed by 10% for their whole lifetime.
 * @param {Awaited<ReturnType<typeof prepareSettings>>} settings
 * @param {number} round
 */
async function runRound(settings, round) {
  /** @type {Running[]} */
  const running = [];
  try {
    for (const kind of options.kinds) running.push(await start(kind, settings));
    for (const { clients } of running) await clients.sendFor(WARM_UP_MS);
    const { measured, quality } = await measureRound({
      firstTurn: round,
      seconds: options.seconds,
      systems: running,
      probe,
      pids: ({ pids }) => pids,
      helpers: [
        process.pid,
        upstream.pid,
        store.pid,
        ...running.flatMap(({ system }) => system.helpers ?? []),
      ],
      work: async ({ clients }, ms) => clients.sendFor(ms),
    });
    const addedMs = await measureLightLoad(running);
    for (const [at, each] of running.entries()) {
      const { ms = NaN, cpuMs = NaN, cpuMsPerRequest = NaN } = measured[at] ?? {};
      const results = rounds.get(each.kind.name);
      results?.cpuMs.push(cpuMsPerRequest);
      results?.busy.push(cpuMs / ms);
      results?.addedMs.push(addedMs[at] ?? NaN);
    }
    qualities.push(quality);
  } finally {
    for (const { clients, system } of running) {
      clients.close();
      await system.stop();
    }
  }
}

/**
 * @param {import('./peers/systems.mjs').Kind} kind
 * @param {Awaited<ReturnType<typeof prepareSettings>>} settings
 * @returns {Promise<Running>}
 */
async function start(kind, settings) {
  const system = await kind.start(settings);
  await verifySystem(kind, system, settings.body);
  const target = {
    port: system.port,
    requests: system.cookies.map(requestBytes),
    bodyBytes: settings.body.length,
  };
  return { kind, system, pids: processTree(system.pid), target, clients: createClients(target) };
}

/**
 * Resolves to the median latency that each system adds over the first, in ms. The systems take turns, so that any noise on the
 * machine affects all of them.
 * @param {readonly Running[]} running
 */
async function measureLightLoad(running) {
  const latencies = running.map(() => /** @type {number[]} */ ([]));
  for (let turn = 0; turn < LIGHT_TURNS; turn++) {
    for (const [at, { target }] of running.entries()) {
      const all = await sendWithPauses(target, LIGHT_WARM_UP_REQUESTS + LIGHT_REQUESTS, LIGHT_EVERY_MS);
      latencies[at]?.push(...all.slice(LIGHT_WARM_UP_REQUESTS));
    }
  }
  const [bare = NaN] = latencies.map(median);
  return latencies.map((ms) => median(ms) - bare);
}

function report() {
  const measured = [...rounds.values()];
  const bare = measured[0]?.cpuMs ?? [];
  const rows = measured.map(({ kind, cpuMs, busy, addedMs }) => ({
    name: kind.name,
    title: kind.title,
    ratio: toSpread(cpuMs.map((each, round) => each / (bare[round] ?? NaN))),
    addedMs: toSpread(addedMs),
    cpuMicroseconds: median(cpuMs) * 1_000,
    busy: median(busy),
    versions: versionsOf(kind.packages),
  }));
  const { rounds: count, seconds } = options;
  const all = {
    rows,
    quality: totalQuality(qualities),
    memoryProbeMs: probe.bestMs(),
    machine: describeMachine(),
    options: { rounds: count, seconds },
  };
  console.log(`\n${toMarkdown(all)}`);
  const json = JSON.stringify(all, null, 2);
  console.log(`\n${json}`);
  if (options.json !== undefined) writeFileSync(options.json, `${json}\n`);
}
