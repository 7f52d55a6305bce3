import { ensureBuild } from './ensure-build.mjs';
import { ensurePackages } from './ensure-packages.mjs';
import { launch } from './launch.mjs';

await launch(async () => {
  await ensurePackages();
  await ensureBuild();
});
