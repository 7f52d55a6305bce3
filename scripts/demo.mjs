import { ensureApp, runApp } from './ensure-app.mjs';
import { ensureRedis } from './ensure-programs.mjs';
import { launch } from './launch.mjs';

await launch(async () => {
  await ensureApp();
  await ensureRedis();
});
await runApp('demo.js');
