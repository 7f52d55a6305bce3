import { ensureApp, runApp } from './ensure-app.mjs';
import { launch } from './launch.mjs';

await launch(ensureApp);
await runApp('cli/keygen.js');
