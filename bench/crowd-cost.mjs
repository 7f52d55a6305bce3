import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { requestBytes } from './peers/browser-request.mjs';
import { createCloakroom } from './support/cloakroom.mjs';
import { onMeasuredCore, OTHER_CORE, pinSelf } from './support/cores.mjs';
import { freePort } from './support/free-port.mjs';
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
 * What a call costs where many are in flight, as Cloakroom is shipped and as V8 would have it (docs/decisions/0022): CPU time,
 * and how much of a call's memory the young generation hands on to the old one. What V8 decides it decides once for a
 * process, so that each round has processes of its own.
 */

const ROUNDS = 4;
const SECONDS = 1.2;
const WARM_UP_MS = 2_500;
const SESSIONS = 8;
const FEW = 32;
const MANY = 128;
const OWN_WAY = ['--allocation-site-pretenuring'];
const KINDS = [FEW, MANY].flatMap((inFlight) => [
  { title: `${inFlight} in flight`, inFlight, nodeOptions: [] },
  { title: `${inFlight} in flight, V8's own way`, inFlight, nodeOptions: OWN_WAY },
]);

pinSelf(OTHER_CORE);
const upstream = startProcess(nodeCommand('bench/support/upstream-process.mjs'), {});
const service = /** @type {{ port: number, body: string }} */ (await upstream.told());
const store = await startStore({ port: await freePort() });
const probe = await startMemoryProbe();
const testApp = createCloakroom({
  upstream: `http://127.0.0.1:${service.port}`,
  redisUrl: store.url,
  redis: store.redis,
});

/** @typedef {Awaited<ReturnType<typeof startSystem>>} System */
const figures = KINDS.map(() => ({
  cpuMs: /** @type {number[]} */ ([]),
  promoted: /** @type {number[]} */ ([]),
}));
/** @type {import('./support/rounds.mjs').Quality[]} */
const qualities = [];
try {
  for (let round = 0; round < ROUNDS; round++) await runRound(round);
  report();
} finally {
  await probe.stop();
  await upstream.stop();
  await store.stop();
}

/** @param {number} round */
async function runRound(round) {
  /** @type {System[]} */
  const systems = [];
  try {
    for (const kind of KINDS) systems.push(await startSystem(kind));
    for (const { callers } of systems) await callers.callFor(WARM_UP_MS);
    const before = systems.map((system) => system.promotedBytes());
    const { measured, quality } = await measureRound({
      systems,
      probe,
      firstTurn: round,
      seconds: SECONDS,
      pids: ({ pids }) => pids,
      helpers: [process.pid, upstream.pid, store.pid],
      async work(system, ms) {
        const calls = await system.callers.callFor(ms);
        system.calls += calls;
        return calls;
      },
    });
    for (const [at, system] of systems.entries()) {
      figures[at]?.cpuMs.push(measured[at]?.cpuMsPerCall ?? NaN);
      figures[at]?.promoted.push((system.promotedBytes() - (before[at] ?? NaN)) / system.calls);
    }
    qualities.push(quality);
  } finally {
    for (const { callers, started, close } of systems) {
      callers.close();
      await started.stop();
      close();
    }
  }
}

/** @param {typeof KINDS[number]} kind */
async function startSystem({ inFlight, nodeOptions }) {
  const folder = mkdtempSync(join(tmpdir(), 'cloakroom-bench-'));
  const log = openSync(join(folder, 'collections'), 'w+');
  rmSync(folder, { recursive: true }); // the file goes with the last who has it open
  const started = await testApp.start({
    env: { LOG_LEVEL: 'silent' },
    nodeOptions: ['--trace-gc-nvp', ...nodeOptions],
    stdout: log,
    wrap: onMeasuredCore,
  });
  const cookies = [];
  while (cookies.length < SESSIONS) cookies.push(await testApp.enter(newGrant(OPAQUE, 14_400)));
  const target = { port: started.port, requests: cookies.map(requestBytes), bodyBytes: service.body.length };
  return {
    calls: 0,
    started,
    pids: familyOf(started.pid),
    callers: createCallers(target, inFlight),
    /** By the collections of the young generation so far; the last few may not be written yet. */
    promotedBytes() {
      const lines = [...readFileSync(`/proc/self/fd/${log}`, 'latin1').matchAll(/ gc=s .* promoted=(\d+)/g)];
      if (lines.length === 0) throw new Error('V8 tells of its collections in other words.');
      return lines.reduce((sum, [, bytes]) => sum + Number(bytes), 0);
    },
    close: () => closeSync(log),
  };
}

function report() {
  const few = figures[0]?.cpuMs ?? [];
  const rows = figures.map(({ cpuMs, promoted }, at) => {
    const ratios = cpuMs.map((each, round) => each / (few[round] ?? NaN));
    return [
      KINDS[at]?.title ?? '',
      figure(median(ratios)),
      `${figure(Math.min(...ratios))} – ${figure(Math.max(...ratios))}`,
      figure(median(promoted)),
      `${figure(Math.min(...promoted))} – ${figure(Math.max(...promoted))}`,
    ];
  });
  const head = ['with', 'CPU, ratio', 'min – max', 'bytes grown old', 'min – max'];
  printTable(`CPU time of a call, and what it leaves to the old generation, over ${ROUNDS} rounds`, [
    head,
    ...rows,
  ]);
  console.log(`\n${tellQuality(sumUp(qualities), probe.bestMs())}`);
}
