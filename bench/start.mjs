import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { root } from '../scripts/launch.mjs';
import { createCloakroom } from './support/cloakroom.mjs';
import { median } from './support/statistics.mjs';
import { startStore } from './support/store.mjs';
import { formatNumber, printTable } from './support/table.mjs';

/**
 * Measures how long a start takes, from spawning the process until the log line `listening`, and until the end of each step on the way
 * there. Each step is a process of its own, and the steps run in rotation. A missed goal does not change the exit code.
 */

const ROUNDS = 15;
const GOAL_MS = 500;

const store = await startStore();
const { env } = createCloakroom({ upstream: 'http://127.0.0.1:9', redisUrl: store.url, redis: store.redis });
const withoutCache = mkdtempSync(join(tmpdir(), 'cloakroom-bench-'));
copyFileSync(join(root, 'dist/server/run.cjs'), join(withoutCache, 'run.cjs'));
const folder = JSON.stringify(pathToFileURL(`${withoutCache}/`));

/** @param {string} code */
const evaluate = (code) => ['--input-type=module', '--eval', code];
const STEPS = [
  { title: 'Node alone', args: evaluate('') },
  { title: 'server loaded from single modules', args: evaluate(`await import('./dist/run.js')`) },
  {
    title: 'server loaded from the bundle, no code cache',
    args: evaluate(`(await import('./dist/load-server.js')).loadServer({ folder: new URL(${folder}) })`),
  },
  {
    title: 'server loaded from the bundle',
    args: evaluate(`(await import('./dist/load-server.js')).loadServer()`),
  },
  { title: 'listening', args: ['dist/main.js'] },
];

try {
  const times = STEPS.map(() => /** @type {number[]} */ ([]));
  for (const { args } of STEPS) await measure(args); // fills the file cache
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [at, { args }] of STEPS.entries()) times[at]?.push(await measure(args));
  }
  const total = median(times.at(-1) ?? []);
  const rows = STEPS.map(({ title }, at) => {
    const all = times[at] ?? [];
    return [
      title,
      formatNumber(median(all)),
      formatNumber(Math.min(...all)),
      formatNumber(Math.max(...all)),
      formatNumber(median(all) / total),
    ];
  });
  const title = `Start on Node ${process.versions.node}, ms since the process was spawned (goal ${GOAL_MS})`;
  printTable(title, [['', 'median', 'min', 'max', 'of the start'], ...rows]);
} finally {
  rmSync(withoutCache, { recursive: true });
  await store.stop();
}

/**
 * Runs Node. Resolves to the time until it prints `listening` or exits, in ms.
 * @param {readonly string[]} args
 */
async function measure(args) {
  const startedAt = performance.now();
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { ...env, NODE_ENV: 'production', PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  let ms = NaN;
  for await (const line of createInterface(child.stdout)) {
    if (!line.includes('"listening"')) continue;
    ms = performance.now() - startedAt;
    child.kill();
  }
  const [code] = /** @type {[number | null]} */ (await exited);
  if (code !== 0) throw new Error(`node ${args.join(' ')} exited with ${code}.`);
  return Number.isNaN(ms) ? performance.now() - startedAt : ms;
}
