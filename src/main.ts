import { setFlagsFromString } from 'node:v8';

// Reset this option to its default. V8 has already applied it, and refuses code caches created with another value.
setFlagsFromString('--max-semi-space-size=0');
const { catchSighup } = await import('./process.ts');
// Catch SIGHUP before loading the server. Loading takes time, and an uncaught SIGHUP ends the process.
const sighup = catchSighup(process);
const { loadServer } = await import('./load-server.ts');
const { run } = loadServer();
// Set V8's options here, so that they apply however the process is started (docs/decisions/0011). Set them after loading, for the sake of
// the code caches.
setFlagsFromString('--no-allocation-site-pretenuring');
setFlagsFromString('--no-parallel-scavenge');
setFlagsFromString('--no-minor-gc-task');
setFlagsFromString('--heap-growing-percent=30');
process.exit(await run(process, sighup));
