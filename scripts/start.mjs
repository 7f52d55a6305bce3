import { ensureApp, runApp } from './ensure-app.mjs';
import { launch } from './launch.mjs';

// First: packages look at it as soon as they are loaded.
if (!process.env['NODE_ENV']) process.env['NODE_ENV'] = 'production';

await launch(ensureApp);
await runApp('main.js');
