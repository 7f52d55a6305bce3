import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { requestBytes } from './peers/browser-request.mjs';
import { createCloakroom } from './support/cloakroom.mjs';
import { onMeasuredCore, OTHER_CORE, pinSelf } from './support/cores.mjs';
import { freePort } from './support/free-port.mjs';
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
 * Measures the CPU time of a request, and the bytes that V8 promotes to the old generation, with few and many requests in flight. Compares
 * Cloakroom's V8 options with V8's defaults (docs/decisions/0011). V8 decides on pretenuring once per process, so each round starts new
 * processes.
 */

const ROUNDS = 4;
const SECONDS = 1.2;
const WARM_UP_MS = 2_500;
const SESSIONS = 8;
const FEW = 32;
const MANY = 128;
/** Ignores the V8 options that main.ts sets. */
const V8_DEFAULTS = ['--import', fileURLToPath(new URL('support/v8-defaults.mjs', import.meta.url))];
const KINDS = [FEW, MANY].flatMap((inFlight) => [
  { title: `${inFlight} in flight`, inFlight, nodeOptions: [] },
  { title: `${inFlight} in flight, V8 defaults`, inFlight, nodeOptions: V8_DEFAULTS },
]);

pinSelf(OTHER_CORE);
const upstream = startProcess(nodeCommand('bench/support/upstream-process.mjs'), {});
const service = /** @type {{ port: number, body: string }} */ (await upstream.nextMessage());
const store = await startStore({ port: await freePort() });
const probe = await startMemoryProbe();
const testApp = createCloakroom({
  upstream: `http://127.0.0.1:${service.port}`,
  redisUrl: store.url,
  redis: store.redis,
});

/** @typedef {Awaited<ReturnType<typeof startSystem>>} System */
/** The measurements for each entry in KINDS, one per round. */
const measurements = KINDS.map(() => ({
  cpuMs: /** @type {number[]} */ ([]),
  promoted: /** @type {number[]} */ ([]),
}));
await runRounds({ rounds: ROUNDS, runRound, report, probe, started: [upstream, store] });

/** @param {number} round */
async function runRound(round) {
  /** @type {System[]} */
  const systems = [];
  try {
    for (const kind of KINDS) systems.push(await startSystem(kind));
    for (const { clients } of systems) await clients.sendFor(WARM_UP_MS);
    const before = systems.map((system) => system.promotedBytes());
    const { measured, quality } = await measureRound({
      systems,
      probe,
      firstTurn: round,
      seconds: SECONDS,
      pids: ({ pids }) => pids,
      helpers: [process.pid, upstream.pid, store.pid],
      async work(system, ms) {
        const requests = await system.clients.sendFor(ms);
        system.requests += requests;
        return requests;
      },
    });
    for (const [at, system] of systems.entries()) {
      measurements[at]?.cpuMs.push(measured[at]?.cpuMsPerRequest ?? NaN);
      measurements[at]?.promoted.push((system.promotedBytes() - (before[at] ?? NaN)) / system.requests);
    }
    return [quality];
  } finally {
    for (const { clients, started, close } of systems) {
      clients.close();
      await started.stop();
      close();
    }
  }
}

/** @param {typeof KINDS[number]} kind */
async function startSystem({ inFlight, nodeOptions }) {
  const folder = mkdtempSync(join(tmpdir(), 'cloakroom-bench-'));
  const log = openSync(join(folder, 'collections'), 'w+');
  rmSync(folder, { recursive: true }); // the open file descriptor keeps the file readable
  const started = await testApp.start({
    env: { LOG_LEVEL: 'silent' },
    nodeOptions: ['--trace-gc-nvp', ...nodeOptions],
    stdout: log,
    wrap: onMeasuredCore,
  });
  const cookies = [];
  while (cookies.length < SESSIONS) cookies.push(await testApp.createSession(newGrant(OPAQUE, 14_400)));
  const target = { port: started.port, requests: cookies.map(requestBytes), bodyBytes: service.body.length };
  return {
    requests: 0,
    started,
    pids: processTree(started.pid),
    clients: createClients(target, inFlight),
    /** Reads from the V8 trace how many bytes young-generation collections have promoted. */
    promotedBytes() {
      const lines = [...readFileSync(`/proc/self/fd/${log}`, 'latin1').matchAll(/ gc=s .* promoted=(\d+)/g)];
      if (lines.length === 0) throw new Error('The V8 trace contains no collections in the expected format.');
      return lines.reduce((sum, [, bytes]) => sum + Number(bytes), 0);
    },
    close: () => closeSync(log),
  };
}

function report() {
  const few = measurements[0]?.cpuMs ?? [];
  const rows = measurements.map(({ cpuMs, promoted }, at) => {
    const ratios = cpuMs.map((each, round) => each / (few[round] ?? NaN));
    return [
      KINDS[at]?.title ?? '',
      formatNumber(median(ratios)),
      `${formatNumber(Math.min(...ratios))} – ${formatNumber(Math.max(...ratios))}`,
      formatNumber(median(promoted)),
      `${formatNumber(Math.min(...promoted))} – ${formatNumber(Math.max(...promoted))}`,
    ];
  });
  const head = ['requests', 'CPU ratio', 'min – max', 'promoted bytes', 'min – max'];
  printTable(`CPU time and promoted bytes per request, medians of ${ROUNDS} rounds`, [head, ...rows]);
}
