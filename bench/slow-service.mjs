import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { requestBytes } from './peers/browser-request.mjs';
import { toSpread } from './peers/report.mjs';
import { KINDS, WITHOUT_SESSIONS } from './peers/systems.mjs';
import { verifySystem } from './peers/verify-system.mjs';
import { OTHER_CORE, pinSelf } from './support/cores.mjs';
import { freePort } from './support/free-port.mjs';
import { createClients } from './support/load.mjs';
import { nodeCommand, startProcess } from './support/start-process.mjs';
import { median } from './support/statistics.mjs';
import { startStore } from './support/store.mjs';
import { printTable } from './support/table.mjs';
import { newGrant, OPAQUE } from './support/tokens.mjs';

/**
 * Measures what sessions cost if the service takes 20 ms: compares Cloakroom with the same gateway without sessions, and with the bare
 * pass-through, which may also read from Redis. Connections send requests without a pause. Goals: 0.97 of the requests a second, and 0.5 ms
 * at the median. Each round starts new processes, and only one system runs at a time.
 *
 * Usage: `npm run bench -- slow-service [--connections 100] [--rounds 5] [--seconds 6]`
 */

const LATENCY_MS = 20;
const SESSIONS = 8;
const WARM_UP_MS = 4_000;

const { values } = parseArgs({
  options: {
    connections: { type: 'string', default: '100' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '6' },
  },
});
const kinds = [WITHOUT_SESSIONS, ...KINDS.filter(({ name }) => ['a', 'a-redis', 'cloakroom'].includes(name))];

pinSelf(OTHER_CORE);
const folder = mkdtempSync(join(tmpdir(), 'cloakroom-bench-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));

const upstream = startProcess(nodeCommand('bench/support/upstream-process.mjs'), {
  LATENCY_MS: String(LATENCY_MS),
});
const { port, body } = /** @type {{ port: number, body: string }} */ (await upstream.nextMessage());
const store = await startStore({ port: await freePort() });
const settings = {
  upstream: `http://127.0.0.1:${port}`,
  redisUrl: store.url,
  redis: store.redis,
  folder,
  grants: Array.from({ length: SESSIONS }, () => newGrant(OPAQUE, 14_400)),
  profiles: undefined,
};
/** @type {Map<string, { perSecond: number, medianMs: number }[]>} One result for each round. */
const results = new Map(kinds.map(({ name }) => [name, []]));
try {
  for (let round = 0; round < Number(values.rounds); round++) {
    process.stderr.write(`round ${round + 1} of ${values.rounds} …\n`);
    const first = round % kinds.length;
    for (const kind of [...kinds.slice(first), ...kinds.slice(0, first)])
      results.get(kind.name)?.push(await measure(kind));
  }
  report();
} finally {
  await upstream.stop();
  await store.stop();
}

/** @param {import('./peers/systems.mjs').Kind} kind */
async function measure(kind) {
  const system = await kind.start(settings);
  try {
    await verifySystem(kind, system, body);
    const target = { port: system.port, requests: system.cookies.map(requestBytes), bodyBytes: body.length };
    const clients = createClients(target, Number(values.connections));
    await clients.sendFor(WARM_UP_MS);
    /** @type {number[]} */
    const latencies = [];
    const startedAt = performance.now();
    const requests = await clients.sendFor(Number(values.seconds) * 1_000, latencies);
    const perSecond = (requests / (performance.now() - startedAt)) * 1_000;
    clients.close();
    return { perSecond, medianMs: median(latencies) };
  } finally {
    await system.stop();
  }
}

function report() {
  const base = results.get(WITHOUT_SESSIONS.name) ?? [];
  const table = [['system', 'requests/s', 'ratio', 'min – max', 'median ms', 'added ms', 'min – max']];
  for (const { name, title } of kinds) {
    const rounds = results.get(name) ?? [];
    const ratio = toSpread(rounds.map(({ perSecond }, at) => perSecond / (base[at]?.perSecond ?? NaN)));
    const added = toSpread(rounds.map(({ medianMs }, at) => medianMs - (base[at]?.medianMs ?? NaN)));
    table.push([
      title,
      median(rounds.map(({ perSecond }) => perSecond)).toFixed(0),
      ratio.median.toFixed(3),
      `${ratio.min.toFixed(3)} – ${ratio.max.toFixed(3)}`,
      median(rounds.map(({ medianMs }) => medianMs)).toFixed(2),
      added.median.toFixed(2),
      `${added.min.toFixed(2)} – ${added.max.toFixed(2)}`,
    ]);
  }
  printTable(
    `Service takes ${LATENCY_MS} ms, ${values.connections} connections, medians of ${values.rounds} rounds`,
    table,
  );
}
