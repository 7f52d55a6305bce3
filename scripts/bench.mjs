import { readdirSync } from 'node:fs';
import { ensureApp } from './ensure-app.mjs';
import { ensureProgram } from './ensure-programs.mjs';
import { launch, LaunchError, root, run } from './launch.mjs';

const NAMES = readdirSync(`${root}bench`)
  .filter((file) => file.endsWith('.mjs'))
  .map((file) => file.replace(/\.mjs$/, ''));

await launch(async () => {
  const asked = process.argv.slice(2);
  const unknown = asked.find((name) => !NAMES.includes(name));
  if (unknown !== undefined) {
    throw new LaunchError(`There is no benchmark named ${unknown}; there are ${NAMES.join(', ')}.`);
  }
  await ensureApp();
  await ensureProgram('redis-server', 'redis-server');
  for (const name of asked.length > 0 ? asked : NAMES) {
    console.log(`\n— ${name}`);
    const code = await run(process.execPath, [`bench/${name}.mjs`]);
    if (code !== 0) process.exitCode = code;
  }
});
