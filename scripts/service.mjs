import { existsSync } from 'node:fs';
import { ensureApp, runApp } from './ensure-app.mjs';
import { ensureRedis } from './ensure-programs.mjs';
import { launch } from './launch.mjs';

await launch(async () => {
  await ensureApp();
  // If .env sets REDIS_URL, no private Redis is needed.
  if (process.env['NODE_ENV'] !== 'production' && existsSync('.env')) process.loadEnvFile('.env');
  await ensureRedis();
});
await runApp('local-service/main.js');
