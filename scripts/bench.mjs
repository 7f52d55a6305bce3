import { readdirSync } from 'node:fs';
import { ensureApp } from './ensure-app.mjs';
import { ensureChromium } from './ensure-chromium.mjs';
import { ensurePackages } from './ensure-packages.mjs';
import { ensureProgram } from './ensure-programs.mjs';
import { launch, LaunchError, root, run } from './launch.mjs';

const NAMES = readdirSync(`${root}bench`)
  .filter((file) => file.endsWith('.mjs'))
  .map((file) => file.replace(/\.mjs$/, ''));

const ensureTaskset = async () => ensureProgram('taskset', 'util-linux');
async function ensurePeers() {
  await ensureTaskset();
  await ensureProgram('nginx', 'nginx');
  await ensurePackages(`${root}bench`);
}

/** Installs the programs and packages for a benchmark, except the app and Redis. @type {Record<string, () => Promise<void>>} */
const NEEDS = {
  peers: ensurePeers,
  'continuous-load': ensurePeers,
  'slow-service': ensureTaskset,
  'idle-cost': ensureTaskset,
  lighthouse: async () => {
    await ensureChromium();
    await ensurePackages(`${root}bench`);
  },
  'load-all': ensureChromium,
  'page-load': ensureChromium,
  'concurrency-cost': ensureTaskset,
};

await launch(async () => {
  const args = process.argv.slice(2);
  const at = args.findIndex((arg) => arg.startsWith('-'));
  const [chosen, options] = at < 0 ? [args, []] : [args.slice(0, at), args.slice(at)];
  if (options.length > 0 && chosen.length !== 1) {
    throw new LaunchError('Name exactly one benchmark before the options.');
  }
  const unknown = chosen.find((name) => !NAMES.includes(name));
  if (unknown !== undefined) {
    throw new LaunchError(`Unknown benchmark ${unknown}. Known benchmarks: ${NAMES.join(', ')}.`);
  }
  await ensureApp();
  await ensureProgram('redis-server', 'redis-server');
  for (const name of chosen.length > 0 ? chosen : NAMES) {
    await NEEDS[name]?.();
    console.log(`\n— ${name}`);
    const code = await run(process.execPath, [`bench/${name}.mjs`, ...options]);
    if (code !== 0) process.exitCode = code;
  }
});
