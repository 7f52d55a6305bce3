import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { requestBytes } from './peers/browser-request.mjs';
import { checkJob } from './peers/does-the-job.mjs';
import { judgeGoals } from './peers/goals.mjs';
import { readOptions } from './peers/options.mjs';
import { describeMachine, toMarkdown, toSpread, versionsOf } from './peers/report.mjs';
import { OTHER_CORE, pinSelf } from './support/cores.mjs';
import { freePort } from './support/free-port.mjs';
import { sendNowAndThen, createClients } from './support/load.mjs';
import { familyOf } from './support/processor-time.mjs';
import { startMemoryProbe } from './support/memory-probe.mjs';
import { measureRound, sumUp } from './support/rounds.mjs';
import { nodeCommand, startProcess } from './support/start-process.mjs';
import { median } from './support/statistics.mjs';
import { startStore } from './support/store.mjs';
import { newGrant, OPAQUE } from './support/tokens.mjs';

/**
 * Compares Cloakroom with peers that do the same job: they forward a request with a session's cookie to a service, with the
 * session's token. All use the same Redis (over TCP) and the same service with 8 KB of JSON. The load has the headers of a browser,
 * eight sessions in turn and 32 kept-alive connections.
 *
 * The main figure is the CPU time of a request, user and system, of all processes of a system, as a ratio to (a), the bare
 * pass-through. The measured system has one core for itself; load, Redis and service have the other. The systems take short turns,
 * in another order in each round; each round has its own processes. Then, at light load, it measures how much each system adds to
 * the median time of a request over (a).
 *
 * `npm run bench -- peers [--only a,cloakroom] [--rounds 5] [--seconds 3] [--json FILE] [--cpu-prof FOLDER]`.
 * `--cpu-prof` keeps profiles of (a) and of Cloakroom; don't quote the figures of such a run.
 */

const SESSIONS = 8;
const WARM_UP_MS = 3_000;
const LIGHT_TURNS = 8;
/** Requests of each turn that don't count: they warm the caches of the processor after the turns of the others. */
const LIGHT_LEAD = 20;
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
/** @typedef {import('./peers/goals.mjs').Measured} Measured */

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
 * Each round has its own processes, because processes of the same code differ by a tenth for their whole life.
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
      const of = rounds.get(each.kind.name);
      of?.cpuMs.push(cpuMsPerRequest);
      of?.busy.push(cpuMs / ms);
      of?.addedMs.push(addedMs[at] ?? NaN);
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
  await checkJob(kind, system, settings.body);
  const target = {
    port: system.port,
    requests: system.cookies.map(requestBytes),
    bodyBytes: settings.body.length,
  };
  return { kind, system, pids: familyOf(system.pid), target, clients: createClients(target) };
}

/**
 * Resolves to what each system adds to the median time of a request over the first, in ms. The systems take turns, so that a
 * disturbance of the machine meets all of them.
 * @param {readonly Running[]} running
 */
async function measureLightLoad(running) {
  const took = running.map(() => /** @type {number[]} */ ([]));
  for (let turn = 0; turn < LIGHT_TURNS; turn++) {
    for (const [at, { target }] of running.entries()) {
      const all = await sendNowAndThen(target, LIGHT_LEAD + LIGHT_REQUESTS, LIGHT_EVERY_MS);
      took[at]?.push(...all.slice(LIGHT_LEAD));
    }
  }
  const [bare = NaN] = took.map(median);
  return took.map((ms) => median(ms) - bare);
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
    goals: judgeGoals(measured),
    quality: sumUp(qualities),
    memoryProbeMs: probe.bestMs(),
    machine: describeMachine(),
    options: { rounds: count, seconds },
  };
  console.log(`\n${toMarkdown(all)}`);
  const json = JSON.stringify(all, null, 2);
  console.log(`\n${json}`);
  if (options.json !== undefined) writeFileSync(options.json, `${json}\n`);
}
