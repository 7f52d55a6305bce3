import { ensureApp, runApp } from './ensure-app.mjs';
import { launch } from './launch.mjs';

// Use the same default as npm start, so that the doctor checks the configuration that npm start would use.
if (!process.env['NODE_ENV']) process.env['NODE_ENV'] = 'production';

await launch(ensureApp);
await runApp('cli/doctor.js');
