import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { createSmallProject } from './small-project.ts';

/** Files for the log audit. The audit counts as one test. */
const SECRETS = {
  '1.secrets': '{"kind":"access token","value":"q7Zr-0aXk2VdN8wLJ5yTbH3mPsEu9cGf1oRiKtQzWvA"}',
};
const LOGS: Readonly<Record<string, string>> = {
  ...SECRETS,
  '1.lines': '{"level":"info","time":1,"msg":"request"}',
};

/** Returns the code of a program that stands in for Jest and writes a test result and logs. */
function jest(passed: number, failed: number, { notRun = 0, skipped = 0, logs = LOGS } = {}): string {
  return `
    for (const [name, text] of Object.entries(${JSON.stringify(logs)}))
      require('fs').writeFileSync(require('path').join(process.env.LOG_AUDIT_FOLDER, name), text);
    const [file] = process.argv.flatMap((arg) => arg.startsWith('--outputFile=') ? [arg.slice(13)] : []);
    require('fs').writeFileSync(file, JSON.stringify({
      numPassedTests: ${passed}, numFailedTests: ${failed}, numRuntimeErrorTestSuites: ${notRun},
      numPendingTests: ${skipped}, numTodoTests: 0,
    }));
    process.exitCode = ${failed + notRun > 0 ? 1 : 0};
  `;
}

const PRINT_OPTIONS = `
  console.log('jest', ...process.argv.slice(2));
  console.log('repeat', process.env.PROPERTY_SEED, process.env.REPEAT_COMMAND);
`;

const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url));

const TOOLS = [
  'prettier/bin/prettier.cjs',
  'oxlint/bin/oxlint',
  'typescript/bin/tsc',
  'knip/bin/knip.js',
  'markdownlint-cli2/markdownlint-cli2-bin.mjs',
];

/** The Node version on which the checks repeat the version-dependent tests. */
const OTHER = process.versions.node.startsWith('24.') ? '20' : '24';
const FAILED_TESTS = `Failed: tests, tests on Node ${OTHER}.`;
const OTHER_NODE = `test/nodes/${OTHER}/node_modules/.bin/node`;
const otherNode = {
  [`test/nodes/${OTHER}/package-lock.json`]: '{"packages":{}}',
  [`test/nodes/${OTHER}/node_modules/.package-lock.json`]: '{"packages":{"node_modules/node":{}}}',
  [OTHER_NODE]: `#!/bin/sh\nON_OTHER=1 exec '${process.execPath}' "$@"\n`,
};

const PROGRAMS = ['redis-server', 'chromium', 'curl', 'haproxy', 'nginx', 'caddy', 'promtool'];
const KUBECTL = `#!/bin/sh\necho '"kustomizeVersion": "v5.0.0"'\n`;

/** Runs the checks in a project in which only the given tools can report problems. */
async function check(tools: Readonly<Record<string, string>>, ci = '', python = 'raise ImportError') {
  const files = { ...Object.fromEntries(TOOLS.map((path) => [path, ''])), ...tools };
  await using project = await createSmallProject({
    ...Object.fromEntries(Object.entries(files).map(([path, code]) => [`node_modules/${path}`, code])),
    'python/requests_oauthlib.py': python,
    'test/local-service/clients/python.test.ts': `import '../../scripts/requests-oauthlib.mjs';`,
    ...otherNode,
  });
  await chmod(join(project.folder, OTHER_NODE), 0o755);
  // The folder contains every program that the tests need, but no apt-get, so that the tests can't install anything.
  const programs = join(project.folder, 'programs');
  await mkdir(programs);
  await writeFile(join(programs, 'kubectl'), KUBECTL, { mode: 0o755 });
  await Promise.all(PROGRAMS.map((name) => symlink(process.execPath, join(programs, name))));
  const env = {
    PATH: programs,
    PYTHONPATH: join(project.folder, 'python'),
    CI: ci,
    PROPERTY_SEED: undefined,
  };
  const { code, stdout, stderr } = await project.run('check.mjs', { env });
  return { outcome: [code, ...stdout.trimEnd().split('\n').slice(-2)], stdout, stderr };
}

describe('a check without findings', () => {
  let checked: Awaited<ReturnType<typeof check>>;
  beforeAll(async () => {
    checked = await check({ 'jest/bin/jest.js': PRINT_OPTIONS + jest(12, 0) });
  });

  test('prints the number of tests', () => {
    expect(checked.outcome).toEqual([0, 'All checks passed.', 'tests: 26 passed, 0 failed']);
  });

  test('runs all tests, then the version-dependent tests on another Node version, both with three workers', () => {
    const [all = [], others = []] = [...checked.stdout.matchAll(/^jest (.+)$/gm)].map(([, args = '']) =>
      args.split(' '),
    );
    const ignored = (args: string[]) =>
      args.flatMap((arg) => (arg.startsWith('--testPathIgnorePatterns=') ? [arg.slice(25)] : []));
    expect(ignored(all)).toEqual([]);
    const isRun = (path: string) => !ignored(others).some((pattern) => new RegExp(pattern).test(path));
    const run = [
      'app/http/shutdown',
      'app/oauth/login',
      'project/deploy/tls',
      'project/deploy/reverse-proxy-rules',
    ];
    const left = ['project/deploy/alerts', 'browser/views', 'unit/browser/counts'];
    const known = [...run, 'browser/export', ...left];
    expect(known.filter((name) => isRun(`/test/${name}.test.ts`))).toEqual([...run, 'browser/export']);
    expect(isRun('/test/containers/image.test.ts')).toBe(false);
    for (const args of [all, others]) expect(args).toContain('--maxWorkers=3');
  });

  test('chooses a new seed for generated inputs, and prints the command that repeats the tests', async () => {
    const again = await check({ 'jest/bin/jest.js': PRINT_OPTIONS + jest(12, 0) });
    const seeds = [checked, again].map(({ stdout }) => {
      const [, printed] = /^PROPERTY_SEED=(\d+)$/m.exec(stdout) ?? [];
      expect(stdout.match(/^repeat .+$/gm)).toEqual([
        `repeat ${printed} npm test --`,
        `repeat ${printed} npm run test:node -- ${OTHER}`,
      ]);
      return printed;
    });
    expect(new Set(seeds).size).toBe(2);
  });

  test('skips the requests-oauthlib tests if the library is missing', () => {
    expect(checked.stderr).toMatch(
      /^The requests-oauthlib tests are skipped: requests-oauthlib is missing: .+\n$/,
    );
  });
});

test('a check continues after a failure and names the failed steps', async () => {
  const { outcome } = await check({
    'jest/bin/jest.js': jest(12, 0),
    'knip/bin/knip.js': 'process.exit(1)',
    'markdownlint-cli2/markdownlint-cli2-bin.mjs': 'process.exit(1)',
    'prettier/bin/prettier.cjs': 'process.exit(2)',
  });
  expect(outcome).toEqual([1, 'Failed: format, dead code, docs.', 'tests: 26 passed, 0 failed']);
});

test.each([
  ['a failed test', jest(10, 2), 22, 4, ''],
  ['a suite that does not run', jest(10, 0, { notRun: 1 }), 22, 2, ''],
  ['tests that do not start', 'process.exit(1)', 0, 2, ''],
  ['tests without a log', jest(12, 0, { logs: SECRETS }), 24, 2, 'the tests wrote no log lines'],
])('%s fails the check', async (_what, tests, passed, failed, message) => {
  const { outcome, stderr } = await check({ 'jest/bin/jest.js': tests });
  expect(outcome).toEqual([1, FAILED_TESTS, `tests: ${passed} passed, ${failed} failed`]);
  expect(stderr).toContain(message);
});

test.each([
  [
    'leave a server open',
    `exports.open = () => new Promise((done) => require('net').createServer().listen(0, '127.0.0.1', done));`,
    /Jest workers ended by a signal: 1\..*\n.*TCPServerWrap.*\nEnded by SIGTERM\.\n/,
  ],
  [
    'hang once Node has started to exit',
    `exports.open = () => process.once('exit', () => { for (;;); });`,
    /Jest workers ended by a signal: 1\..*\nEnded by SIGKILL\.\n/,
  ],
])('tests that %s in a Jest worker fail the check', async (_, open, message) => {
  const endsWorker = `
    const { Worker } = require('${MODULES}/jest-worker');
    const options = { exposedMethods: ['open'], numWorkers: 1, workerGracefulExitTimeout: 50 };
    const worker = new Worker(require.resolve('leak'), options);
    worker.open().then(() => worker.end());
  `;
  const tools = { 'jest/bin/jest.js': jest(12, 0) + endsWorker, 'leak/index.js': open };
  const { outcome, stderr } = await check(tools);
  expect(outcome).toEqual([1, FAILED_TESTS, 'tests: 26 passed, 2 failed']);
  expect(stderr).toMatch(message);
});

test('a test that fails only on the other Node version fails the check', async () => {
  const both = `if (process.env.ON_OTHER) { ${jest(10, 2)} } else { ${jest(12, 0)} }`;
  const { outcome } = await check({ 'jest/bin/jest.js': both });
  expect(outcome).toEqual([1, `Failed: tests on Node ${OTHER}.`, 'tests: 24 passed, 2 failed']);
});

test('a skipped test fails the check only in CI', async () => {
  const tools = { 'jest/bin/jest.js': jest(12, 0, { skipped: 1 }) };
  const inCi = await check(tools, 'true', '');
  expect(inCi.outcome).toEqual([1, FAILED_TESTS, 'tests: 26 passed, 2 failed']);
  expect((await check(tools)).outcome).toEqual([0, 'All checks passed.', 'tests: 26 passed, 0 failed']);
});

test('a missing requests-oauthlib library fails the check in CI', async () => {
  const { outcome } = await check({ 'jest/bin/jest.js': jest(12, 0) }, 'true');
  expect(outcome).toEqual([1, 'Failed: programs and build.', 'tests: 26 passed, 0 failed']);
});
