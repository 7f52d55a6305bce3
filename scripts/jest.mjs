import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { run } from './launch.mjs';
import { auditLogs, countAudit, printAudit, requireLogs } from './log-audit.mjs';
import { KILLED_WORKER_FILE } from './open-handles.mjs';

/**
 * The seed for the order of tests in a file, and for generated inputs unless PROPERTY_SEED is set. The seed is fixed, so that the
 * result depends only on the change under test (docs/decisions/0019). `--seed` overrides this seed.
 */
const SEED = '--seed=1';

// Jest needs the first option to load ES modules. The second option hides a warning from each worker.
const NODE_OPTIONS = [
  '--experimental-vm-modules',
  '--disable-warning=ExperimentalWarning',
  '--import=./scripts/open-handles.mjs',
];

/** Time in ms within which a worker without open handles exits, even on a busy machine. */
const GRACEFUL_EXIT = '--workerGracefulExitTimeout=10000';

/**
 * Runs Jest, then audits all logs from the run. The audit is counted as one test. Resolves to the audit's test count and an exit code:
 * Jest's exit code, or 1 if only the audit failed or a signal ended a Jest worker.
 * @param {readonly string[]} args
 * @param {object} [options]
 * @param {string} [options.programs] The folder of another Node for Jest. The folder comes first on the PATH, also for npm in tests.
 * @param {string} [options.repeatCommand] The start of a command that reruns test files; the reporter appends their paths. If the
 *   string is empty, the reporter prints no command.
 * @param {boolean} [options.areAll] Whether the run includes all tests, which must have written logs.
 */
export async function runJest(args, { programs, repeatCommand = 'npm test --', areAll = false } = {}) {
  const node = programs === undefined ? process.execPath : join(programs, 'node');
  const PATH = [programs, process.env['PATH']].filter(Boolean).join(delimiter);
  const seed = args.some((arg) => arg.startsWith('--seed')) ? [] : [SEED];
  const command = [...NODE_OPTIONS, 'node_modules/jest/bin/jest.js', GRACEFUL_EXIT, ...seed, ...args];
  const folder = mkdtempSync(join(tmpdir(), 'cloakroom-logs-'));
  // test/support/log-audit.ts, ./open-handles.mjs, ./jest-reporter.mjs
  const env = { ...process.env, PATH, LOG_AUDIT_FOLDER: folder, REPEAT_COMMAND: repeatCommand };
  try {
    const code = await run(node, command, { env });
    const found = areAll ? requireLogs(auditLogs(folder)) : auditLogs(folder);
    printAudit(found);
    const audit = countAudit(found);
    const killed = reportKilledWorkers(folder);
    return { code: code || audit.failed || killed, audit };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/**
 * Reports the Jest workers that were ended by a signal. Returns 1 if a signal ended a worker, otherwise 0.
 * @param {string} folder
 */
function reportKilledWorkers(folder) {
  const files = readdirSync(folder).filter((name) => name.startsWith(KILLED_WORKER_FILE));
  if (files.length === 0) return 0;
  const reasons = files.map((name) => readFileSync(join(folder, name), 'utf8')).join('');
  console.error(
    `Jest workers ended by a signal: ${files.length}. Jest sends SIGTERM and then SIGKILL if a test file left handles open.\n${reasons}`,
  );
  return 1;
}
