import { readDotEnv } from '../config/env.ts';
import { exitCodeOf } from '../process.ts';
import { hasProblem, toJson, toText } from './doctor/report.ts';
import { runChecks } from './doctor/run-checks.ts';

const USAGE = `Usage: npm run doctor                checks the configuration, Redis and the service
       npm run -s doctor -- --json   prints the results as JSON (without "--", npm itself consumes --json)

Reads the same environment as npm start. Exits with 1 if there is a problem, otherwise with 0.
`;

async function main(args: readonly string[]): Promise<number> {
  if (args.some((arg) => arg === '--help' || arg === '-h')) {
    await print(USAGE);
    return 0;
  }
  if (args.some((arg) => arg !== '--json')) {
    process.stderr.write(USAGE);
    return 2;
  }
  const { isIgnored: ignoresDotEnv } = readDotEnv(process);
  const findings = await runChecks(process.env, { ignoresDotEnv });
  await print(args.length > 0 ? toJson(findings) : toText(findings));
  return hasProblem(findings) ? 1 : 0;
}

/** Resolves once the entire text is written, so that the process can exit. */
async function print(text: string): Promise<void> {
  await new Promise((resolve) => {
    process.stdout.write(text, resolve);
  });
}

// exit() also closes connections that timed-out checks left open.
process.exit(await exitCodeOf(async () => main(process.argv.slice(2))));
