import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { createSmallProject } from './small-project.ts';

/** A stand-in for jest that leaves a result behind. */
function jest(passed: number, failed: number, suitesThatDidNotRun = 0): string {
  return `
    const [file] = process.argv.flatMap((arg) => arg.startsWith('--outputFile=') ? [arg.slice(13)] : []);
    require('fs').writeFileSync(file, JSON.stringify({
      numPassedTests: ${passed}, numFailedTests: ${failed}, numRuntimeErrorTestSuites: ${suitesThatDidNotRun},
    }));
    process.exitCode = ${failed + suitesThatDidNotRun > 0 ? 1 : 0};
  `;
}

const TOOLS = ['prettier/bin/prettier.cjs', 'oxlint/bin/oxlint', 'typescript/bin/tsc', 'knip/bin/knip.js'];

const PROGRAMS = ['redis-server', 'chromium', 'curl', 'haproxy'];

/** Runs the checks of a project whose tools find nothing wrong, but for those that are given. */
async function check(tools: Readonly<Record<string, string>>, ci = '') {
  const files = { ...Object.fromEntries(TOOLS.map((path) => [path, ''])), ...tools };
  await using project = await createSmallProject({
    ...Object.fromEntries(Object.entries(files).map(([path, code]) => [`node_modules/${path}`, code])),
    'python/requests_oauthlib.py': 'raise ImportError',
  });
  // The programs that must be there, and no apt-get: a test installs nothing.
  const programs = join(project.folder, 'programs');
  await mkdir(programs);
  await Promise.all(PROGRAMS.map((name) => symlink(process.execPath, join(programs, name))));
  const env = { PATH: programs, PYTHONPATH: join(project.folder, 'python'), CI: ci };
  const { code, stdout, stderr } = await project.run('check.mjs', { env });
  return { code, lines: stdout.trimEnd().split('\n').slice(-2), stderr };
}

test('a check that finds nothing ends with the number of tests', async () => {
  expect(await check({ 'jest/bin/jest.js': jest(12, 0) })).toMatchObject({
    code: 0,
    lines: ['All checks passed.', 'tests: 12 passed, 0 failed'],
  });
});

test('a check goes on after a failure, and names what failed', async () => {
  const tools = { 'jest/bin/jest.js': jest(12, 0), 'knip/bin/knip.js': 'process.exit(1)' };
  expect(await check({ ...tools, 'prettier/bin/prettier.cjs': 'process.exit(2)' })).toMatchObject({
    code: 1,
    lines: ['Failed: format, dead code.', 'tests: 12 passed, 0 failed'],
  });
});

test('a check counts tests that failed', async () => {
  expect(await check({ 'jest/bin/jest.js': jest(10, 2) })).toMatchObject({
    code: 1,
    lines: ['Failed: tests.', 'tests: 10 passed, 2 failed'],
  });
});

test('a check counts a suite that did not run as a failure', async () => {
  expect(await check({ 'jest/bin/jest.js': jest(10, 0, 1) })).toMatchObject({
    code: 1,
    lines: ['Failed: tests.', 'tests: 10 passed, 1 failed'],
  });
});

test('a check whose tests could not run at all has failed', async () => {
  expect(await check({ 'jest/bin/jest.js': 'process.exit(1)' })).toMatchObject({
    code: 1,
    lines: ['Failed: tests.', 'tests: 0 passed, 1 failed'],
  });
});

test('a check without requests-oauthlib says that its tests are skipped, and goes on', async () => {
  expect(await check({ 'jest/bin/jest.js': jest(12, 0) })).toEqual({
    code: 0,
    lines: ['All checks passed.', 'tests: 12 passed, 0 failed'],
    stderr:
      'Its tests are skipped: requests-oauthlib is missing: install it, e.g. on Debian or Ubuntu: ' +
      'sudo apt-get install python3-requests-oauthlib\n',
  });
});

test('in CI, where nobody would see them missing, a check without requests-oauthlib has failed', async () => {
  expect(await check({ 'jest/bin/jest.js': jest(12, 0) }, 'true')).toMatchObject({
    code: 1,
    lines: ['Failed: requests-oauthlib.', 'tests: 12 passed, 0 failed'],
  });
});
