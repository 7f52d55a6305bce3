import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensurePackages } from './ensure-packages.mjs';
import { runJest } from './jest.mjs';
import { LaunchError, launch, root } from './launch.mjs';
import { allTests, prepareTests, selectTests } from './test-selection.mjs';

const IMPORTS_PROPERTIES = /^import .*\/support\/properties\.ts';$/m;

/**
 * Runs the property tests, or the given tests, with many times the usual number of inputs and a new seed:
 * `npm run test:properties -- 50 test/app/oauth`. Jest prints the seed. To repeat a run, pass that seed as `--seed`.
 */
await launch(async () => {
  const [times = '20', ...args] = process.argv.slice(2);
  if (!/^[1-9]\d*$/.test(times)) {
    throw new LaunchError(`${times} is not a positive whole number: npm run test:properties -- 20`);
  }
  await ensurePackages();
  const isNamed = args.some((arg) => !arg.startsWith('-'));
  const files = isNamed ? [] : propertyTests();
  await prepareTests(isNamed ? selectTests(args).files : files);
  process.env['PROPERTY_TIMES'] = times; // test/support/properties.ts, jest.config.mjs
  delete process.env['PROPERTY_SEED']; // --seed determines the inputs instead
  const seed = args.some((arg) => arg.startsWith('--seed')) ? [] : [`--seed=${randomInt(2 ** 31)}`];
  ({ code: process.exitCode } = await runJest([...seed, ...args, ...files], {
    repeatCommand: `npm run test:properties -- ${times}`,
  }));
});

function propertyTests() {
  return allTests().filter((path) => IMPORTS_PROPERTIES.test(readFileSync(join(root, path), 'utf8')));
}
