import { ensurePackages } from './ensure-packages.mjs';
import { prepareTests, runJest } from './jest.mjs';
import { launch } from './launch.mjs';
import { hasRequestsOauthlib } from './requests-oauthlib.mjs';

await launch(async () => {
  await ensurePackages();
  await prepareTests();
  if (!hasRequestsOauthlib()) {
    console.error(
      'requests-oauthlib is not installed: its tests are skipped (apt-get install python3-requests-oauthlib).',
    );
  }
  ({ code: process.exitCode } = await runJest(process.argv.slice(2)));
});
