import { ensureApp, runApp } from './ensure-app.mjs';
import { launch } from './launch.mjs';

// As in npm start, so that the doctor checks the configuration that would run.
if (!process.env['NODE_ENV']) process.env['NODE_ENV'] = 'production';

await launch(ensureApp);
await runApp('cli/doctor.js');
