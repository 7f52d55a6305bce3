import { ensurePackages } from './ensure-packages.mjs';
import { runJest } from './jest.mjs';
import { launch } from './launch.mjs';
import { allTests, prepareTests, quickTests, withoutTests } from './test-selection.mjs';

/** Runs the tests that need neither a browser nor a process other than a private Redis. Arguments go to Jest. */
await launch(async () => {
  await ensurePackages();
  const files = quickTests();
  await prepareTests(files);
  const others = allTests().filter((path) => !files.includes(path));
  ({ code: process.exitCode } = await runJest([...process.argv.slice(2), ...withoutTests(others)]));
});
