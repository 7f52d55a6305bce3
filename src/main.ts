import { setFlagsFromString } from 'node:v8';
import { catchSighup, exitCodeOf } from './process.ts';

// Set V8's options here, so that they apply however the process is started (docs/decisions/0011).
setFlagsFromString('--no-allocation-site-pretenuring');
setFlagsFromString('--no-parallel-scavenge');
// Catch SIGHUP before importing anything else. Importing takes time, and an uncaught SIGHUP ends the process.
const sighup = catchSighup(process);
const { run } = await import('./run.ts');
process.exit(await exitCodeOf(async () => run(process, sighup)));
