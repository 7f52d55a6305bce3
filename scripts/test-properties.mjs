import { randomInt } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ensurePackages } from './ensure-packages.mjs';
import { prepareTests, runJest } from './jest.mjs';
import { LaunchError, launch, root } from './launch.mjs';

const SETS_THEM_UP = '/support/properties.ts';

/**
 * Runs the tests of properties, or those that are named, many times as long as every day and with what chance brings:
 * `npm run test:properties -- 50 test/auth`. Jest prints the seed; with `--seed` behind the same words it all comes again.
 */
await launch(async () => {
  const [times = '20', ...args] = process.argv.slice(2);
  if (!/^[1-9]\d*$/.test(times)) {
    throw new LaunchError(`${times} is no number of times: npm run test:properties -- 20`);
  }
  await ensurePackages();
  await prepareTests();
  process.env['PROPERTY_TIMES'] = times; // test/support/properties.ts, jest.config.mjs
  const isNamed = args.some((arg) => !arg.startsWith('-'));
  const seed = args.some((arg) => arg.startsWith('--seed')) ? [] : [`--seed=${randomInt(2 ** 31)}`];
  ({ code: process.exitCode } = await runJest([...seed, ...args, ...(isNamed ? [] : propertyTests())]));
});

function propertyTests() {
  return readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.test.ts'))
    .map((path) => join('test', path))
    .filter((path) => readFileSync(join(root, path), 'utf8').includes(SETS_THEM_UP));
}
