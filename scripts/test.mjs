import { ensurePackages } from './ensure-packages.mjs';
import { runJest } from './jest.mjs';
import { launch } from './launch.mjs';
import { LONG_TESTS, prepareTests, selectTests, withoutTests } from './test-selection.mjs';

/** Runs the given tests, or all except the long tests. Other arguments go to Jest. */
await launch(async () => {
  await ensurePackages();
  const args = process.argv.slice(2);
  const { files, isNamed } = selectTests(args);
  await prepareTests(files);
  ({ code: process.exitCode } = await runJest([...args, ...(isNamed ? [] : withoutTests(LONG_TESTS))]));
});
