import { ensureApp, runApp } from './ensure-app.mjs';
import { launch } from './launch.mjs';

// Set it now, because packages read it while they load.
if (!process.env['NODE_ENV']) process.env['NODE_ENV'] = 'production';

await launch(ensureApp);
await runApp('main.js');
