import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { requestBytes } from './peers/browser-request.mjs';
import { describeMachine, toSpread } from './peers/report.mjs';
import { selectKinds } from './peers/options.mjs';
import { verifySystem } from './peers/verify-system.mjs';
import { OTHER_CORE, pinSelf } from './support/cores.mjs';
import { cpuMsOf, processTree } from './support/cpu-time.mjs';
import { freePort } from './support/free-port.mjs';
import { createClients, sendAtRate } from './support/load.mjs';
import { nodeCommand, startProcess } from './support/start-process.mjs';
import { percentile } from './support/statistics.mjs';
import { startStore } from './support/store.mjs';
import { printTable } from './support/table.mjs';
import { newGrant, OPAQUE } from './support/tokens.mjs';

/**
 * Compares the systems of the benchmark `peers` under continuous load. Only one system gets requests at a time: 4 s of warm-up and 7 s of
 * requests on 32 connections without a pause. Once all systems have been loaded, each gets 400 requests a second on 4 connections. All
 * requests count. Each round starts the systems anew, and loads them close together, because the machine changes its speed. The goals
 * refer to this benchmark, because operators pay for continuous load. The names of the systems are in peers/systems.mjs.
 *
 * Usage: `npm run bench -- continuous-load [--only a,cloakroom] [--rounds 5] [--light-seconds 12] [--cpu-prof FOLDER]`
 */

const SESSIONS = 8;
const WARM_UP_MS = 4_000;
const LOAD_MS = 7_000;
const LIGHT = { count: 4, perSecond: 400 };
/** Time at light load that is not measured. */
const LIGHT_WARM_UP_MS = 1_000;

/** @typedef {(own: Result, other: Result) => number} Compare */
/** @type {Compare} */
const cpuRatio = (own, other) => own.cpuMs / other.cpuMs;
/** @type {Compare} */
const p99Ratio = (own, other) => percentile(own.latencies, 99) / percentile(other.latencies, 99);
/** @type {Compare} */
const addedP50 = (own, other) => percentile(own.latencies, 50) - percentile(other.latencies, 50);

/** @type {Compare} */
const memory = (own) => own.loadMb;

/** Systems to compare in each round, and the maximum for the median of all rounds. */
const GOALS = [
  { title: 'CPU ÷ bare, request logs off', names: ['cloakroom', 'a'], compare: cpuRatio, max: 1.25 },
  { title: 'CPU ÷ nginx, request logs off', names: ['cloakroom', 'e'], compare: cpuRatio, max: 1 },
  { title: 'CPU ÷ bare, logs and metrics on', names: ['cloakroom-logs', 'a'], compare: cpuRatio, max: 1.5 },
  { title: 'memory under load, MB', names: ['cloakroom', 'a'], compare: memory, max: 90 },
  { title: 'CPU ÷ express-session stack', names: ['cloakroom', 'b'], compare: cpuRatio, max: 0.2 },
  { title: 'p99 ÷ bare, light load', names: ['cloakroom', 'a'], compare: p99Ratio, max: 1.3 },
  { title: 'p50 − bare, light load, ms', names: ['cloakroom', 'a'], compare: addedP50, max: 0.2 },
];

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    'light-seconds': { type: 'string', default: '12' },
    'cpu-prof': { type: 'string' },
  },
});
const kinds = selectKinds(values.only);
const lightMs = Number(values['light-seconds']) * 1_000;

pinSelf(OTHER_CORE);
const folder = mkdtempSync(join(tmpdir(), 'cloakroom-bench-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));

const upstream = startProcess(nodeCommand('bench/support/upstream-process.mjs'), {});
const { port, body } = /** @type {{ port: number, body: string }} */ (await upstream.nextMessage());
const store = await startStore({ port: await freePort() });
const settings = {
  upstream: `http://127.0.0.1:${port}`,
  redisUrl: store.url,
  redis: store.redis,
  folder,
  grants: Array.from({ length: SESSIONS }, () => newGrant(OPAQUE, 14_400)),
  profiles: values['cpu-prof'],
};

/** @typedef {Awaited<ReturnType<typeof measureLoad>> & Awaited<ReturnType<typeof measureLatency>>} Result */
/** @type {Map<string, Result[]>} One result for each round. */
const results = new Map(kinds.map(({ name }) => [name, []]));
try {
  for (let round = 0; round < Number(values.rounds); round++) {
    const first = round % kinds.length;
    await measureRound(round, [...kinds.slice(first), ...kinds.slice(0, first)]);
  }
  report();
} finally {
  await upstream.stop();
  await store.stop();
}

/**
 * Starts all systems, and loads one after the other. Then measures the latency of each at light load.
 * @param {number} round
 * @param {readonly import('./peers/systems.mjs').Kind[]} order
 */
async function measureRound(round, order) {
  /** @type {import('./peers/systems.mjs').System[]} */
  const systems = [];
  try {
    for (const kind of order) {
      const system = await kind.start(settings);
      systems.push(system);
      await verifySystem(kind, system, body);
    }
    const loads = [];
    for (const system of systems) loads.push(await measureLoad(system));
    for (const [at, system] of systems.entries()) {
      const [load, { name = '' } = {}] = [loads[at], order[at]];
      if (load === undefined) throw new Error(`${name} was not loaded.`);
      const result = { ...load, ...(await measureLatency(system)) };
      results.get(name)?.push(result);
      const p99 = percentile(result.latencies, 99).toFixed(2);
      process.stderr.write(
        `round ${round + 1}: ${name}: ${(load.cpuMs * 1_000).toFixed(0)} µs, ${load.perSecond.toFixed(0)}/s, p99 ${p99} ms\n`,
      );
    }
  } finally {
    await Promise.all(systems.map(async (system) => system.stop()));
  }
}

/** @param {import('./peers/systems.mjs').System} system */
function targetOf({ port: systemPort, cookies }) {
  return { port: systemPort, requests: cookies.map(requestBytes), bodyBytes: body.length };
}

/** @param {import('./peers/systems.mjs').System} system */
async function measureLoad(system) {
  const pids = processTree(system.pid);
  const idleMb = memoryMb(pids);
  const clients = createClients(targetOf(system));
  await clients.sendFor(WARM_UP_MS);
  const [cpuBefore, startedAt] = [cpuMsOf(pids), performance.now()];
  const requests = await clients.sendFor(LOAD_MS);
  const [cpuMs, ms] = [cpuMsOf(pids) - cpuBefore, performance.now() - startedAt];
  const loadMb = memoryMb(pids);
  clients.close();
  return { cpuMs: cpuMs / requests, perSecond: (requests / ms) * 1_000, idleMb, loadMb };
}

/** @param {import('./peers/systems.mjs').System} system */
async function measureLatency(system) {
  const target = targetOf(system);
  await sendAtRate(target, { ...LIGHT, ms: LIGHT_WARM_UP_MS });
  return sendAtRate(target, { ...LIGHT, ms: lightMs });
}

/**
 * Returns the resident memory of processes, in MB (10⁶ bytes). Memory that processes share counts for each of them.
 * @param {readonly number[]} pids
 */
function memoryMb(pids) {
  const kib = pids.map(
    (pid) => /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1],
  );
  return (kib.reduce((sum, one) => sum + Number(one), 0) * 1_024) / 1e6;
}

function report() {
  const bare = results.get('a') ?? [];
  const table = [
    [
      'system',
      '× bare',
      'min – max',
      'requests/s',
      'p50 ms',
      'p99 ms',
      'min – max',
      'p99.9 ms',
      'MB idle',
      'under load',
    ],
  ];
  for (const { name, title } of kinds) {
    const rounds = results.get(name) ?? [];
    const ratio = toSpread(rounds.map(({ cpuMs }, at) => cpuMs / (bare[at]?.cpuMs ?? NaN)));
    const latency = (/** @type {number} */ percent) =>
      toSpread(rounds.map(({ latencies }) => percentile(latencies, percent)));
    const p99 = latency(99);
    table.push([
      title,
      ratio.median.toFixed(2),
      `${ratio.min.toFixed(2)} – ${ratio.max.toFixed(2)}`,
      toSpread(rounds.map(({ perSecond }) => perSecond)).median.toFixed(0),
      latency(50).median.toFixed(2),
      p99.median.toFixed(2),
      `${p99.min.toFixed(2)} – ${p99.max.toFixed(2)}`,
      latency(99.9).median.toFixed(2),
      toSpread(rounds.map(({ idleMb }) => idleMb)).median.toFixed(0),
      toSpread(rounds.map(({ loadMb }) => loadMb)).median.toFixed(0),
    ]);
  }
  printTable(`Continuous load, medians of ${values.rounds} rounds`, table);
  reportGoals();
  reportSlowest();
  const { cpu, kernel, node, redis } = describeMachine();
  console.log(`\n${cpu}; Linux ${kernel}; Node ${node}; ${redis}.`);
}

function reportGoals() {
  const rows = GOALS.flatMap(({ title, names: [name = '', to = ''], compare, max }) => {
    const [own, other] = [results.get(name), results.get(to)];
    if (own === undefined || other === undefined) return [];
    const spread = toSpread(own.map((result, at) => compare(result, /** @type {Result} */ (other[at]))));
    const range = `${spread.min.toFixed(2)} – ${spread.max.toFixed(2)}`;
    return [[title, String(max), spread.median.toFixed(2), range, spread.median <= max ? 'met' : 'missed']];
  });
  printTable('Goals', [['goal', 'maximum', 'measured', 'min – max', ''], ...rows]);
}

/** Prints where the slowest requests of Cloakroom at light load spent their time, as `Server-Timing` reports it. */
function reportSlowest() {
  const slowest = (results.get('cloakroom') ?? [])
    .flatMap((result) => result.slowest)
    .toSorted((one, other) => other.ms - one.ms)
    .slice(0, 20);
  if (slowest.length === 0) return;
  const part = (/** @type {string} */ head, /** @type {string} */ name) =>
    Number(new RegExp(`${name};dur=([\\d.]+)`).exec(head)?.[1]);
  const rows = slowest.map(({ ms, head }) => {
    const [session, token, service] = ['session', 'token', 'service'].map((name) => part(head, name));
    const rest = ms - (session ?? 0) - (token ?? 0) - (service ?? 0);
    return [ms, session ?? NaN, token ?? NaN, service ?? NaN, rest].map((each) => each.toFixed(1));
  });
  printTable('The slowest requests of Cloakroom at light load, in ms', [
    ['latency', 'session', 'token', 'service', 'rest'],
    ...rows,
  ]);
}
