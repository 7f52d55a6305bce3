import { diagnose } from './doctor/run-checks.ts';
import { isWell, toJson, toText } from './doctor/report.ts';
import { readDotEnv } from '../config/env.ts';
import { exitCodeOf } from '../process.ts';

const USAGE = `Usage: npm run doctor              says in words what is wrong with the configuration
       npm run -s doctor -- --json says it as one JSON object (--json without -- is npm's own)

Reads the environment as npm start does. Exits with 1 if anything is wrong, and otherwise with 0.
`;

/** Examines and tells; gives the exit code. */
async function main(args: readonly string[]): Promise<number> {
  if (args.some((arg) => arg === '--help' || arg === '-h')) {
    await print(USAGE);
    return 0;
  }
  if (args.some((arg) => arg !== '--json')) {
    process.stderr.write(USAGE);
    return 2;
  }
  const dotEnv = readDotEnv(process);
  const findings = await diagnose({
    env: process.env,
    nodeVersion: process.versions.node,
    ignoresDotEnv: dotEnv.isIgnored,
    now: Date.now,
    tellFlaw: (words) => console.error(words),
  });
  await print(args.length > 0 ? toJson(findings) : toText(findings));
  return isWell(findings) ? 0 : 1;
}

/** Resolves when all of it is out: what follows may be the end of the process. */
async function print(text: string): Promise<void> {
  await new Promise((resolve) => {
    process.stdout.write(text, resolve);
  });
}

// Connections may still be idle, and a Redis that was given up may still be on its way.
process.exit(await exitCodeOf(async () => main(process.argv.slice(2))));
