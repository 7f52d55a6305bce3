import { catchSighup, exitCodeOf } from './process.ts';

// Catch SIGHUP before importing anything else. Importing takes time, and an uncaught SIGHUP ends the process.
const sighup = catchSighup(process);
const { run } = await import('./run.ts');
process.exit(await exitCodeOf(async () => run(process, sighup)));
