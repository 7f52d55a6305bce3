import { readdirSync } from 'node:fs';
import { ensureApp } from './ensure-app.mjs';
import { ensureChromium } from './ensure-chromium.mjs';
import { ensurePackages } from './ensure-packages.mjs';
import { ensureProgram } from './ensure-programs.mjs';
import { launch, LaunchError, root, run } from './launch.mjs';

const NAMES = readdirSync(`${root}bench`)
  .filter((file) => file.endsWith('.mjs'))
  .map((file) => file.replace(/\.mjs$/, ''));

const pinning = async () => ensureProgram('taskset', 'util-linux');
/** Installs what a benchmark needs beside the app and Redis. @type {Record<string, () => Promise<void>>} */
const NEEDS = {
  peers: async () => {
    await pinning();
    await ensureProgram('nginx', 'nginx');
    await ensurePackages(`${root}bench`);
  },
  'idle-cost': pinning,
  lighthouse: async () => {
    await ensureChromium();
    await ensurePackages(`${root}bench`);
  },
  'crowd-cost': pinning,
};

await launch(async () => {
  const words = process.argv.slice(2);
  const at = words.findIndex((word) => word.startsWith('-'));
  const [chosen, options] = at < 0 ? [words, []] : [words.slice(0, at), words.slice(at)];
  if (options.length > 0 && chosen.length !== 1) {
    throw new LaunchError('Options are for one benchmark: name it before them.');
  }
  const unknown = chosen.find((name) => !NAMES.includes(name));
  if (unknown !== undefined) {
    throw new LaunchError(`There is no benchmark named ${unknown}; there are ${NAMES.join(', ')}.`);
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
