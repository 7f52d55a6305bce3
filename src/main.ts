import { takeHangUps } from './config/sighup.ts';
import { exitCodeOf } from './process.ts';

// Ahead of everything else, which takes its time to be read: a hang-up that comes meanwhile would end the process.
const hangUps = takeHangUps(process);
const { run } = await import('./run.ts');
process.exit(await exitCodeOf(async () => run(process, hangUps)));
