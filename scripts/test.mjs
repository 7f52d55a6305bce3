import { ensurePackages } from './ensure-packages.mjs';
import { prepareTests, runJest } from './jest.mjs';
import { launch } from './launch.mjs';

await launch(async () => {
  await ensurePackages();
  await prepareTests();
  process.exitCode = await runJest(process.argv.slice(2));
});
