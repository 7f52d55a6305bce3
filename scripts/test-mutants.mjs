import {
  closeSync,
  cpSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, relative } from 'node:path';
import { ensurePackages } from './ensure-packages.mjs';
import { LaunchError, launch, root, run } from './launch.mjs';
import { applyMutant, readMutants } from './mutants.mjs';
import { prepareTests } from './test-selection.mjs';

/**
 * @typedef {import('./mutants.mjs').Mutant} Mutant
 * @typedef {'killed' | 'hang' | 'survived' | 'broken'} Result `broken` if the tests could not run.
 * @typedef {{ result: Result, killer: string }} Verdict `killer` is the first test that failed.
 */

/** If the tests take longer than this, the mutant counts as hung, and therefore as detected. */
const HANG_MS = 90_000;
/** The timeout for one test, shorter than in `npm test` because the machine is less busy. */
const TEST_TIMEOUT_MS = 30_000;
const ALL_TESTS_MS = 3_600_000;
/** The exit code of a program ended by SIGKILL. */
const SIGKILLED = 137;
/** Files and folders that are not copied. The copy has a link to node_modules and its own build. */
const NOT_COPIED = new Set(['node_modules', '.git', '.cache', 'dist', 'dist.next']);

/**
 * Applies the mutants in test/mutants.json to a copy of the project, one at a time, and runs the tests of each mutant. Prints a
 * Markdown table. Arguments select mutants by part of their file or name: `npm run test:mutants -- session "one refresh"`.
 */
await launch(async () => {
  const words = process.argv.slice(2);
  const mutants = readMutants().filter(
    ({ file, name }) => words.length === 0 || words.some((word) => `${file} ${name}`.includes(word)),
  );
  if (mutants.length === 0) throw new LaunchError('No mutant matches.');
  const sources = mutants.map(mutate);
  await ensurePackages();
  await prepareTests(mutants.flatMap(({ tests }) => tests));

  const folder = mkdtempSync(join(tmpdir(), 'cloakroom-mutants-'));
  try {
    copyProject(folder);
    const failing = await findFailing(folder, [...new Set(mutants.flatMap(({ tests }) => tests))]);
    /** @type {Record<Result, number>} */
    const counts = { killed: 0, hang: 0, survived: 0, broken: 0 };
    console.log(
      '| Mutant | File | Result | First test that failed | Seconds |\n| --- | --- | --- | --- | --- |',
    );
    for (const [at, mutant] of mutants.entries()) {
      const startedAt = performance.now();
      const path = join(folder, mutant.file);
      const original = readFileSync(path, 'utf8');
      writeFileSync(path, sources[at] ?? '');
      const { result, killer } = await judge(folder, mutant, failing);
      writeFileSync(path, original);
      const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
      counts[result] += 1;
      const cells = [mutant.name, `\`${mutant.file}\``, result, killer, seconds];
      console.log(`| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`);
    }
    const sums = Object.entries(counts).map(([result, count]) => `${count} ${result}`);
    console.log(`\n${sums.join(', ')}`);
    process.exitCode = counts.survived + counts.broken > 0 ? 1 : 0;
  } finally {
    rmSync(folder, { recursive: true, maxRetries: 5 });
  }
});

/** @param {Mutant} mutant */
function mutate(mutant) {
  try {
    return applyMutant(readFileSync(join(root, mutant.file), 'utf8'), mutant);
  } catch (error) {
    throw new LaunchError(`${mutant.file}, "${mutant.name}": ${/** @type {Error} */ (error).message}`);
  }
}

/**
 * Copies the working tree, so that mutants never change the project itself.
 * @param {string} folder
 */
function copyProject(folder) {
  cpSync(root, folder, { recursive: true, filter: (path) => !NOT_COPIED.has(basename(path)) });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
}

/**
 * Returns the test files that fail without a mutant and therefore can't detect mutants.
 * @param {string} folder
 * @param {readonly string[]} tests
 */
async function findFailing(folder, tests) {
  console.error(`Running ${tests.length} test files without a mutant …`);
  if ((await quietly(folder, ['scripts/build.mjs'], ALL_TESTS_MS)) !== 0)
    throw new LaunchError(lastLine(folder));
  const report = await runTests(folder, tests, ALL_TESTS_MS);
  if (report === undefined) throw new LaunchError('The tests time out without a mutant.');
  return new Set(
    report.testResults.filter(({ status }) => status === 'failed').map(({ name }) => relative(folder, name)),
  );
}

/**
 * @param {string} folder
 * @param {Mutant} mutant
 * @param {ReadonlySet<string>} failing
 * @returns {Promise<Verdict>}
 */
async function judge(folder, { tests, build = false }, failing) {
  const broken = tests.find((path) => failing.has(path));
  if (broken !== undefined) return { result: 'broken', killer: `\`${broken}\` fails without it` };
  if (build && (await quietly(folder, ['scripts/build.mjs'], HANG_MS)) !== 0)
    return { result: 'broken', killer: lastLine(folder) };
  const report = await runTests(folder, tests, HANG_MS);
  if (report === undefined) return { result: 'hang', killer: `none within ${HANG_MS / 1_000} s` };
  for (const { name, assertionResults } of report.testResults) {
    const failed = assertionResults.find(({ status }) => status === 'failed');
    if (failed) return { result: 'killed', killer: `\`${relative(folder, name)}\`: ${failed.fullName}` };
  }
  const notRun = report.testResults.find(({ status }) => status === 'failed');
  if (notRun) return { result: 'broken', killer: notRun.message.trim().split('\n', 2).join(' ') };
  return { result: 'survived', killer: '' };
}

/**
 * @typedef {{ status: string, fullName: string }} JestTest
 * @typedef {{ name: string, status: string, message: string, assertionResults: readonly JestTest[] }} JestFile
 * @typedef {{ testResults: readonly JestFile[] }} JestReport
 *
 * Runs test files. Resolves to Jest's report, or to undefined after the timeout.
 * @param {string} folder
 * @param {readonly string[]} tests
 * @param {number} timeoutMs
 * @returns {Promise<JestReport | undefined>}
 */
async function runTests(folder, tests, timeoutMs) {
  const report = join(folder, 'report.json');
  rmSync(report, { force: true });
  const jest = [
    '--experimental-vm-modules',
    'node_modules/jest/bin/jest.js',
    '--seed=1',
    `--testTimeout=${TEST_TIMEOUT_MS}`,
  ];
  const output = [`--cacheDirectory=${join(folder, '.jest')}`, '--json', `--outputFile=${report}`];
  // Force Jest to exit, because a failed test may have left handles open.
  const args = [...jest, ...output, '--forceExit', '--runTestsByPath', ...tests];
  if ((await quietly(folder, args, timeoutMs)) === SIGKILLED) return undefined;
  if (!existsSync(report))
    return { testResults: [{ name: '', status: 'failed', message: lastLine(folder), assertionResults: [] }] };
  return /** @type {JestReport} */ (JSON.parse(readFileSync(report, 'utf8')));
}

/**
 * Returns the last line of the program output.
 * @param {string} folder
 */
function lastLine(folder) {
  return readFileSync(join(folder, 'output'), 'utf8').trim().split('\n').at(-1) ?? '';
}

/**
 * Runs Node in the copy, with the output in a file.
 * @param {string} folder
 * @param {readonly string[]} args
 * @param {number} timeout in ms
 */
async function quietly(folder, args, timeout) {
  const output = openSync(join(folder, 'output'), 'w');
  try {
    return await run(process.execPath, args, {
      cwd: folder,
      stdio: ['ignore', output, output],
      timeout,
      killSignal: 'SIGKILL',
    });
  } finally {
    closeSync(output);
  }
}
