import { ensureApp, runApp } from './ensure-app.mjs';
import { launch } from './launch.mjs';

// Set NODE_ENV now, because packages read NODE_ENV while they load.
if (!process.env['NODE_ENV']) process.env['NODE_ENV'] = 'production';

await launch(ensureApp);
await runApp('main.js');
