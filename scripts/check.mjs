import { randomInt } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureNode, otherMajor } from './ensure-node.mjs';
import { ensurePackages } from './ensure-packages.mjs';
import { runJest } from './jest.mjs';
import { Interrupted, LaunchError, launch, runPackage } from './launch.mjs';
import { allTests, prepareTests, withoutTests } from './test-selection.mjs';

/** @typedef {{ passed: number, failed: number }} Count */
/**
 * @typedef {object} Result The result that Jest writes.
 * @property {number} numPassedTests
 * @property {number} numFailedTests
 * @property {number} numPendingTests
 * @property {number} numTodoTests
 * @property {number} numRuntimeErrorTestSuites
 */

/** The result if the tests did not run: one failed test. */
const NOT_RUN = { passed: 0, failed: 1 };

/**
 * Tests that do not depend on the Node version: pages in Chromium, configurations of other programs, and page scripts
 * (docs/decisions/0019).
 */
const NODE_INDEPENDENT = [
  '/test/browser/(?!export|sign-in-and-out)',
  '/test/project/deploy/(?!tls|reverse-proxy-rules)',
  '/test/unit/browser/',
];

/** Fewer workers than in `npm test`, because a check may take longer and less load makes tests more reliable. */
const WORKERS = '--maxWorkers=3';

/** The seed for generated inputs. Each check uses a new seed (test/support/properties.ts). */
process.env['PROPERTY_SEED'] ??= String(randomInt(2 ** 31));

await launch(async () => {
  const other = otherMajor();
  console.log(`PROPERTY_SEED=${process.env['PROPERTY_SEED']}`);
  let count = NOT_RUN;
  let otherCount = NOT_RUN;
  const failed = await failures([
    ['packages', ensurePackages],
    ['format', () => runPackage('prettier/bin/prettier.cjs', ['--check', '.'])],
    ['lint', () => runPackage('oxlint/bin/oxlint', ['--type-aware', '--deny-warnings'])],
    ['types', () => runPackage('typescript/bin/tsc', ['--project', '.'])],
    ['types of page scripts', () => runPackage('typescript/bin/tsc', ['--project', 'src/browser'])],
    ['dead code', () => runPackage('knip/bin/knip.js', [])],
    ['docs', () => runPackage('markdownlint-cli2/markdownlint-cli2-bin.mjs', [])],
    ['programs and build', () => prepareTests(allTests())],
    [
      'tests',
      async () => {
        count = await countTests({}, [WORKERS]);
        return count.failed;
      },
    ],
    [
      `tests on Node ${other}`,
      async () => {
        const programs = await ensureNode(other);
        const options = { programs, repeatCommand: `npm run test:node -- ${other}` };
        otherCount = await countTests(options, [WORKERS, ...withoutTests(NODE_INDEPENDENT)]);
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
 * Runs every step, even after a failure. Resolves to the names of the failed steps.
 * @param {[string, () => Promise<number | void>][]} steps
 */
async function failures(steps) {
  const failed = [];
  for (const [name, step] of steps) {
    console.log(`\n— ${name}`);
    // Run one step at a time. Concurrent steps would slow each other down and mix their output.
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
 * Runs the tests and counts them. The log audit is counted as one test. A suite that could not start is counted as a failed test,
 * and so is a skipped test in CI.
 * @param {{ programs?: string, repeatCommand?: string }} options for runJest
 * @param {readonly string[]} args for Jest
 */
async function countTests(options, args) {
  const folder = mkdtempSync(join(tmpdir(), 'cloakroom-check-'));
  try {
    const file = join(folder, 'jest.json');
    const command = ['--json', `--outputFile=${file}`, ...args];
    const { code, audit } = await runJest(command, { ...options, areAll: true });
    const result = /** @type {Result} */ (JSON.parse(readFileSync(file, 'utf8')));
    return toCount(result, code, audit);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/**
 * @param {Result} result
 * @param {number} code Jest's exit code
 * @param {Count} audit
 * @returns {Count}
 */
function toCount(result, code, audit) {
  const skipped = process.env['CI'] ? result.numPendingTests + result.numTodoTests : 0;
  const failed = result.numFailedTests + result.numRuntimeErrorTestSuites + skipped + audit.failed;
  return { passed: result.numPassedTests + audit.passed, failed: code === 0 ? failed : Math.max(failed, 1) };
}
