import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, release, tmpdir } from 'node:os';
import { join } from 'node:path';
import { requestBytes } from './peers/browser-request.mjs';
import { checkJob } from './peers/does-the-job.mjs';
import { readOptions } from './peers/options.mjs';
import { MEASURED_CORE, OTHER_CORE, pinSelf } from './support/cores.mjs';
import { freePort } from './support/free-port.mjs';
import { callMany, callNowAndThen } from './support/load.mjs';
import { familyOf } from './support/processor-time.mjs';
import { measureRounds } from './support/rounds.mjs';
import { nodeCommand, startProcess } from './support/start-process.mjs';
import { median } from './support/statistics.mjs';
import { startStore } from './support/store.mjs';
import { newGrant, OPAQUE } from './support/tokens.mjs';

const SESSIONS = 8;
const WARM_UP_CALLS = 12_000;
const LIGHT_TURNS = 12;
const LIGHT_CALLS = 24;
const LIGHT_EVERY_MS = 4;

const options = readOptions();
pinSelf(OTHER_CORE);
const folder = mkdtempSync(join(tmpdir(), 'cloakroom-bench-'));
const upstream = startProcess(nodeCommand('bench/support/upstream-process.mjs'), {});
const store = await startStore({ port: await freePort() });
/** @type {{ kind: import('./peers/systems.mjs').Kind, system: import('./peers/systems.mjs').System, pids: number[], target: import('./support/load.mjs').Target }[]} */
const running = [];

try {
  const { port, body } = /** @type {{ port: number, body: string }} */ (await upstream.told());
  const world = {
    upstream: `http://127.0.0.1:${port}`,
    redisUrl: store.url,
    redis: store.redis,
    folder,
    grants: Array.from({ length: SESSIONS }, () => newGrant(OPAQUE, 14_400)),
    profiles: options.profiles,
  };
  for (const kind of options.kinds) {
    const system = await kind.start(world);
    await checkJob(kind, system, body);
    const target = { port: system.port, requests: system.cookies.map(requestBytes), bodyBytes: body.length };
    running.push({ kind, system, pids: familyOf(system.pid), target });
  }
  for (const { target } of running) await callMany(target, WARM_UP_CALLS);

  const { byRound, thrown, disturbed } = await measureRounds({
    systems: running,
    rounds: options.rounds,
    calls: options.calls,
    pids: ({ pids }) => pids,
    helpers: [process.pid, upstream.pid, store.pid],
    work: async ({ target }, calls) => callMany(target, calls),
  });
  const [bare] = running;
  const rows = running.map((each) => {
    const us = byRound.map((round) => (round.get(each)?.cpuMs ?? NaN) * 1_000);
    const ratios = byRound.map(
      (round) => (round.get(each)?.cpuMs ?? NaN) / ((bare && round.get(bare)?.cpuMs) || NaN),
    );
    const busy = byRound.map((round) => {
      const m = round.get(each);
      return m ? (m.cpuMs * options.calls) / m.ms : NaN;
    });
    return {
      name: each.kind.name,
      ratio: median(ratios),
      min: Math.min(...ratios),
      max: Math.max(...ratios),
      us: median(us),
      busy: median(busy),
    };
  });
  console.table(rows);
  console.log({ thrown, disturbed });
  const light = new Map(running.map((each) => [each, /** @type {number[]} */ ([])]));
  for (let turn = 0; turn < LIGHT_TURNS; turn++) {
    for (const each of running)
      light.get(each)?.push(...(await callNowAndThen(each.target, LIGHT_CALLS, LIGHT_EVERY_MS)));
  }
  for (const [each, ms] of light) console.log(each.kind.name, median(ms).toFixed(3));
} finally {
  for (const { system } of running) await system.stop();
  await upstream.stop();
  await store.stop();
  rmSync(folder, { recursive: true });
}
