import { ensureApp, runApp } from './ensure-app.mjs';
import { launch } from './launch.mjs';

// As npm start has it: what is examined is what would run.
if (!process.env['NODE_ENV']) process.env['NODE_ENV'] = 'production';

await launch(ensureApp);
await runApp('cli/doctor.js');
