import { ensureApp } from './ensure-app.mjs';
import { ensureProgram } from './ensure-programs.mjs';
import { launch, LaunchError, run } from './launch.mjs';

/** Runs the soak test for a number of minutes: `npm run soak -- 20`, or with a seed, `npm run soak -- 20 7`. */
await launch(async () => {
  const numbers = process.argv.slice(2);
  if (numbers.length > 2 || numbers.some((text) => !(Number(text) > 0))) {
    throw new LaunchError('Usage: npm run soak -- <minutes> [<seed>]');
  }
  await ensureApp();
  await ensureProgram('redis-server', 'redis-server');
  await ensureProgram('haproxy', 'haproxy');
  process.exitCode = await run(process.execPath, ['bench/soak/soak.mjs', ...numbers]);
});
