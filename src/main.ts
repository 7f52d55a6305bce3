import { setFlagsFromString } from 'node:v8';
import { loadServer } from './load-server.ts';
import { catchSighup } from './process.ts';

// Catch SIGHUP before loading the server. Loading takes time, and an uncaught SIGHUP ends the process.
const sighup = catchSighup(process);
const { run } = loadServer();
// Set V8's options here, so that they apply however the process is started (docs/decisions/0011). Set them after loading, because V8
// refuses code caches that were created with other options, including the cache of Node's own modules.
setFlagsFromString('--no-allocation-site-pretenuring');
setFlagsFromString('--no-parallel-scavenge');
process.exit(await run(process, sighup));
