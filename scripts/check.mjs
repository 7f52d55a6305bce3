import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureNode, otherMajor } from './ensure-node.mjs';
import { ensurePackages } from './ensure-packages.mjs';
import { prepareTests, runJest } from './jest.mjs';
import { Interrupted, LaunchError, launch, runPackage } from './launch.mjs';
import { ensureRequestsOauthlib } from './requests-oauthlib.mjs';

/** @typedef {{ passed: number, failed: number }} Count */
/** @typedef {{ numPassedTests: number, numFailedTests: number, numRuntimeErrorTestSuites: number }} Result */

/** Counts as a failure of its own: of tests that never ran none can have failed. */
const NOT_RUN = { passed: 0, failed: 1 };

/** Judged once: what Chromium makes of the pages is the same whichever Node they come from (docs/decisions/0038). */
const NODE_ASIDE = [
  '--testPathIgnorePatterns',
  '/node_modules/',
  '/test/containers/', // as jest.config.mjs has it: this takes the place of that
  '/test/e2e/(?!main-way|export)',
];

await launch(async () => {
  const other = otherMajor();
  let count = NOT_RUN;
  let otherCount = NOT_RUN;
  const failed = await failures([
    ['packages', ensurePackages],
    ['format', () => runPackage('prettier/bin/prettier.cjs', ['--check', '.'])],
    ['lint', () => runPackage('oxlint/bin/oxlint', ['--type-aware', '--deny-warnings'])],
    ['types', () => runPackage('typescript/bin/tsc', ['--project', '.'])],
    [
      'types of the pages’ scripts',
      () => runPackage('typescript/bin/tsc', ['--project', 'tsconfig.public.json']),
    ],
    ['dead code', () => runPackage('knip/bin/knip.js', [])],
    ['programs and build', prepareTests],
    ['requests-oauthlib', ensureRequestsOauthlib],
    [
      'tests',
      async () => {
        count = await countTests();
        return count.failed;
      },
    ],
    [
      `tests on Node ${other}`,
      async () => {
        otherCount = await countTests(NODE_ASIDE, await ensureNode(other));
        return otherCount.failed;
      },
    ],
  ]);
  console.log(failed.length === 0 ? '\nAll checks passed.' : `\nFailed: ${failed.join(', ')}.`);
  const [passed, failedTests] = [count.passed + otherCount.passed, count.failed + otherCount.failed];
  console.log(`tests: ${passed} passed, ${failedTests} failed`);
  process.exitCode = failed.length === 0 ? 0 : 1;
});

/**
 * Runs every step, whatever became of those before, and resolves with the names of those that failed.
 * @param {[string, () => Promise<number | void>][]} steps
 */
async function failures(steps) {
  const failed = [];
  for (const [name, step] of steps) {
    console.log(`\n— ${name}`);
    // One after the other: each would slow the next down, and what they say would mix.
    const code = await step().catch(toFailure);
    if (code) failed.push(name);
  }
  return failed;
}

/** @param {unknown} error */
function toFailure(error) {
  if (error instanceof Interrupted) throw error;
  console.error(error instanceof LaunchError ? error.message : error);
  return 1;
}

/**
 * Runs the tests; the count is jest's own and that of the look through the logs, and a suite that could not even start counts as a
 * failed test.
 * @param {readonly string[]} [args] of jest
 * @param {string} [programs] the folder of another Node
 */
async function countTests(args = [], programs) {
  const folder = mkdtempSync(join(tmpdir(), 'cloakroom-check-'));
  try {
    const file = join(folder, 'jest.json');
    const command = [...args, '--json', `--outputFile=${file}`];
    const { code, audit } = await runJest(command, { areAll: true, ...(programs && { programs }) });
    const result = /** @type {Result} */ (JSON.parse(readFileSync(file, 'utf8')));
    return toCount(result, code, audit);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/**
 * @param {Result} result
 * @param {number} code jest's exit code
 * @param {Count} audit
 * @returns {Count}
 */
function toCount(result, code, audit) {
  const failed = result.numFailedTests + result.numRuntimeErrorTestSuites + audit.failed;
  return { passed: result.numPassedTests + audit.passed, failed: code === 0 ? failed : Math.max(failed, 1) };
}
