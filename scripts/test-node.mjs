import { ensureNode } from './ensure-node.mjs';
import { ensurePackages } from './ensure-packages.mjs';
import { runJest } from './jest.mjs';
import { launch } from './launch.mjs';
import { allTests, prepareTests, selectTests } from './test-selection.mjs';

/** Runs all tests, or the given tests, on another major version of Node: `npm run test:node -- 22 test/app/gateway`. */
await launch(async () => {
  const [major, ...args] = process.argv.slice(2);
  const programs = await ensureNode(major);
  await ensurePackages();
  const { files, isNamed } = selectTests(args);
  await prepareTests(isNamed ? files : allTests());
  ({ code: process.exitCode } = await runJest(args, {
    programs,
    repeatCommand: `npm run test:node -- ${major}`,
  }));
});
