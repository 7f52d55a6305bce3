import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { requestBytes } from './peers/browser-request.mjs';
import { checkJob } from './peers/does-the-job.mjs';
import { readOptions } from './peers/options.mjs';
import { describeMachine, toMarkdown, toSpread, versionsOf } from './peers/report.mjs';
import { OTHER_CORE, pinSelf } from './support/cores.mjs';
import { freePort } from './support/free-port.mjs';
import { callNowAndThen, createCallers } from './support/load.mjs';
import { familyOf } from './support/processor-time.mjs';
import { measureRounds } from './support/rounds.mjs';
import { nodeCommand, startProcess } from './support/start-process.mjs';
import { median } from './support/statistics.mjs';
import { startStore } from './support/store.mjs';
import { newGrant, OPAQUE } from './support/tokens.mjs';

/**
 * Cloakroom beside peers that do the same job: a call with a session's cookie goes on to a service with the session's
 * token. Same Redis (over TCP), same service, 8 KB of JSON, the headers of a browser, eight sessions in turn, 32
 * connections that are kept.
 *
 * The main figure is CPU time for each call, user and system, of all processes of a system, as a ratio to (a), the bare
 * pass-through. What is measured has one core for itself; load, Redis and service have the other. The systems take
 * short turns, in another order each time. Then, at light load, what each adds to the median time of a call over (a).
 *
 * `npm run bench -- peers [--only a,cloakroom] [--rounds 5] [--seconds 1.5] [--json FILE] [--cpu-prof FOLDER]`.
 * `--cpu-prof` keeps profiles of (a) and of Cloakroom; the figures of such a run are none to quote.
 */

const SESSIONS = 8;
const WARM_UP_MS = 4_000;
/** Of calls before each turn: connections are open, and caches are warm again after the turns of the others. */
const LEAD_MS = 20;
const LIGHT_TURNS = 4;
const LIGHT_CALLS = 25;
const LIGHT_EVERY_MS = 4;

/**
 * @typedef {object} Running
 * @property {import('./peers/systems.mjs').Kind} kind
 * @property {import('./peers/systems.mjs').System} system
 * @property {number[]} pids
 * @property {import('./support/load.mjs').Target} target
 * @property {ReturnType<typeof createCallers>} callers
 * @property {number[]} addedMs by round
 */

const options = readOptions();
pinSelf(OTHER_CORE);
const folder = mkdtempSync(join(tmpdir(), 'cloakroom-bench-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));

const upstream = startProcess(nodeCommand('bench/support/upstream-process.mjs'), {});
const store = await startStore({ port: await freePort() });
/** @type {Running[]} */
const running = [];
try {
  await startAll();
  for (const { callers } of running) await callers.callFor(WARM_UP_MS);
  const { rounds, quality } = await measureRounds({
    ...options,
    systems: running,
    pids: ({ pids }) => pids,
    helpers: [process.pid, upstream.pid, store.pid, ...running.flatMap(({ system }) => system.helpers ?? [])],
    prepare: async ({ callers }) => void (await callers.callFor(LEAD_MS)),
    work: async ({ callers }, ms) => callers.callFor(ms),
    afterRound: measureLightLoad,
  });
  report(rounds, quality);
} finally {
  for (const { callers, system } of running) {
    callers.close();
    await system.stop();
  }
  await upstream.stop();
  await store.stop();
}

async function startAll() {
  const { port, body } = /** @type {{ port: number, body: string }} */ (await upstream.told());
  if (options.profiles !== undefined) mkdirSync(options.profiles, { recursive: true });
  const world = {
    upstream: `http://127.0.0.1:${port}`,
    redisUrl: store.url,
    redis: store.redis,
    folder,
    grants: Array.from({ length: SESSIONS }, () => newGrant(OPAQUE, 14_400)),
    profiles: options.profiles && resolve(options.profiles),
  };
  for (const kind of options.kinds) {
    const system = await kind.start(world);
    await checkJob(kind, system, body);
    const target = { port: system.port, requests: system.cookies.map(requestBytes), bodyBytes: body.length };
    const callers = createCallers(target);
    running.push({ kind, system, pids: familyOf(system.pid), target, callers, addedMs: [] });
  }
}

/** All systems in turn, so that they meet the same moments. */
async function measureLightLoad() {
  const took = running.map(() => /** @type {number[]} */ ([]));
  for (let turn = 0; turn < LIGHT_TURNS; turn++) {
    for (const [at, { target }] of running.entries()) {
      took[at]?.push(...(await callNowAndThen(target, LIGHT_CALLS, LIGHT_EVERY_MS)));
    }
  }
  const [bare = NaN] = took.map(median);
  for (const [at, { addedMs }] of running.entries()) addedMs.push(median(took[at] ?? []) - bare);
}

/**
 * @param {Awaited<ReturnType<typeof measureRounds<Running>>>['rounds']} rounds
 * @param {import('./support/rounds.mjs').Quality} quality
 */
function report(rounds, quality) {
  const ofAll = (/** @type {Running | undefined} */ each, /** @type {'cpuMs' | 'busy'} */ what) =>
    rounds.map((round) => {
      const { ms, cpuMs, calls } = (each && round.get(each)) ?? { ms: NaN, cpuMs: NaN, calls: NaN };
      return what === 'busy' ? cpuMs / ms : cpuMs / calls;
    });
  const bare = ofAll(running[0], 'cpuMs');
  const rows = running.map((each) => ({
    name: each.kind.name,
    title: each.kind.title,
    ratio: toSpread(ofAll(each, 'cpuMs').map((cpuMs, round) => cpuMs / (bare[round] ?? NaN))),
    addedMs: toSpread(each.addedMs),
    cpuMicroseconds: median(ofAll(each, 'cpuMs')) * 1_000,
    busy: median(ofAll(each, 'busy')),
    versions: versionsOf(each.kind.packages),
  }));
  const { rounds: count, seconds } = options;
  const all = { rows, quality, machine: describeMachine(), options: { rounds: count, seconds } };
  console.log(`\n${toMarkdown(all)}`);
  const json = JSON.stringify(all, null, 2);
  console.log(`\n${json}`);
  if (options.json !== undefined) writeFileSync(options.json, `${json}\n`);
}
