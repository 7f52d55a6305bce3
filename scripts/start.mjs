import { ensureApp, runApp } from './ensure-app.mjs';
import { launch } from './launch.mjs';

// Packages read it while they load.
if (!process.env['NODE_ENV']) process.env['NODE_ENV'] = 'production';

await launch(ensureApp);
await runApp('main.js');
