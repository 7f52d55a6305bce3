import { catchSighup, exitCodeOf } from './process.ts';

// Catch SIGHUP before importing anything else: imports take a while, and the signal would end the process.
const sighup = catchSighup(process);
const { run } = await import('./run.ts');
process.exit(await exitCodeOf(async () => run(process, sighup)));
