import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import { createSmallProject } from './small-project.ts';

/** Prints all of Jest's arguments except the first, followed by the value of PROPERTY_TIMES. */
const PRINT_SEED = `console.log(...process.argv.slice(3), process.env['PROPERTY_TIMES'] ?? 1);\n`;
const PRINT_MODE = `console.log(process.env['NODE_ENV']);\n`;

/** Returns a lock file with these packages, each given as name@version or as the name of a development package. */
function lock(...packages: string[]): string {
  const entries = packages.map((each) => {
    const [name, version] = each.split('@');
    return [`node_modules/${name}`, version === undefined ? { dev: true } : { version }];
  });
  return JSON.stringify({ packages: Object.fromEntries(entries) as object });
}

/** Returns the outcome of a launcher that fails with this error output. */
const refusal = (stderr: unknown) => ({ code: 1, stdout: '', stderr });

const NO_PROGRAMS = { PATH: '' };
const INSTALLS = 'Installing packages …\nnpm could not be started (ENOENT).\n';

test('npm start runs in production mode unless NODE_ENV is set', async () => {
  await using project = await createSmallProject({ 'dist/main.js': PRINT_MODE });
  for (const [mode, printed] of [
    ['', 'production'],
    ['development', 'development'],
  ])
    expect((await project.run('start.mjs', { env: { NODE_ENV: mode } })).stdout).toBe(`${printed}\n`);
});

const PRODUCTION_INSTALL = {
  'src/main.ts': 'newer than dist',
  'package-lock.json': lock('a@1.0.0', 'typescript'),
  'node_modules/.package-lock.json': lock('a@1.0.0'),
};

test('in a production install, npm start runs the existing build and does not install packages', async () => {
  await using project = await createSmallProject({ ...PRODUCTION_INSTALL, 'dist/main.js': PRINT_MODE });
  expect(await project.run('start.mjs', { env: { NODE_ENV: '' } })).toMatchObject({
    code: 0,
    stdout: 'production\n',
    stderr: expect.not.stringContaining('Installing'),
  });
});

test('in a container, which lacks src and npm’s lock file, npm start runs the existing build', async () => {
  await using project = await createSmallProject({
    'dist/main.js': PRINT_MODE,
    'node_modules/.package-lock.json': '',
  });
  expect(await project.run('start.mjs')).toMatchObject({ code: 0, stderr: '' });
});

test.each([
  [
    'npm start installs the development packages if a production install has no build',
    'start.mjs',
    PRODUCTION_INSTALL,
    `dist and the compiler are missing. Installing the development packages.\n${INSTALLS}`,
  ],
  [
    'npm start reinstalls packages whose version has changed',
    'start.mjs',
    {
      'src/main.ts': '',
      'package-lock.json': lock('a@2.0.0'),
      'node_modules/.package-lock.json': lock('a@1.0.0'),
    },
    INSTALLS,
  ],
  [
    'npm start refuses a copy with neither src nor dist',
    'start.mjs',
    {},
    'Cloakroom can’t start: src and dist are missing.\n',
  ],
  [
    'npm run service reports a missing program with the command to install it',
    'service.mjs',
    { 'dist/local-service/main.js': '' },
    'redis-server is missing: install it, e.g. on Debian or Ubuntu: sudo apt-get install redis-server\n',
  ],
  [
    'npm run test:containers reports its requirements if Docker is missing',
    'test-containers.mjs',
    {},
    'docker is missing. These tests need Docker 20.10 and Compose 2.20 or newer.\n',
  ],
] satisfies [string, string, Record<string, string>, string][])(
  '%s',
  async (_what, script, files, stderr) => {
    await using project = await createSmallProject(files);
    const env = { ...NO_PROGRAMS, REDIS_URL: '' };
    expect(await project.run(script, { env })).toEqual(refusal(stderr));
  },
);

test('npm start refuses to run on a Node version that is too old', async () => {
  await using project = await createSmallProject({ 'dist/main.js': PRINT_MODE });
  const older = `Object.defineProperty(process, 'versions', { value: { node: '20.18.3' } })`;
  const nodeOptions = ['--import', `data:text/javascript,${encodeURIComponent(older)}`];
  expect(await project.run('start.mjs', { nodeOptions })).toEqual(
    refusal('Cloakroom needs Node 20.19 or newer; this is Node 20.18.3.\n'),
  );
});

test('npm run service needs no redis-server if REDIS_URL is set', async () => {
  await using project = await createSmallProject({ 'dist/local-service/main.js': 'console.log("runs");' });
  const outcome = await project.run('service.mjs', {
    env: { ...NO_PROGRAMS, REDIS_URL: 'redis://localhost' },
  });
  expect(outcome).toEqual({ code: 0, stdout: 'runs\n', stderr: '' });
});

test('npm run service needs no redis-server if .env sets REDIS_URL, except in production', async () => {
  await using project = await createSmallProject({
    '.env': 'REDIS_URL=redis://localhost',
    'dist/local-service/main.js': 'console.log("runs");',
  });
  const env = { ...NO_PROGRAMS, NODE_ENV: '', REDIS_URL: undefined };
  expect(await project.run('service.mjs', { env })).toEqual({ code: 0, stdout: 'runs\n', stderr: '' });
  expect(await project.run('service.mjs', { env: { ...env, NODE_ENV: 'production' } })).toEqual(
    refusal(expect.stringContaining('redis-server is missing')),
  );
});

test('npm test passes its arguments to Jest and returns its exit code', async () => {
  await using project = await createSmallProject({
    'node_modules/jest/bin/jest.js': 'console.log(process.argv.slice(3).join(" ")); process.exitCode = 3;',
    'test/config/some.test.ts': '',
  });
  expect(await project.run('test.mjs', { args: ['test/config', '-t', 'a name'] })).toMatchObject({
    code: 3,
    stdout: '--seed=1 test/config -t a name\n',
  });
});

test('npm test uses the same seed each time unless an argument sets a different seed', async () => {
  await using project = await createSmallProject({ 'node_modules/jest/bin/jest.js': PRINT_SEED });
  expect((await project.run('test.mjs')).stdout).toMatch(/^--seed=1 .* 1\n$/);
  expect((await project.run('test.mjs', { args: ['--seed=7'] })).stdout).toMatch(/^--seed=7 .* 1\n$/);
});

test('npm run test:properties runs the property tests many times with a new seed', async () => {
  await using project = await createSmallProject({
    'node_modules/jest/bin/jest.js': PRINT_SEED,
    'test/a/some.test.ts': `import { fc } from '../support/properties.ts';`,
    'test/a/other.test.ts': '',
  });
  const run = async (...args: string[]) => (await project.run('test-properties.mjs', { args })).stdout;
  const printed = /^--seed=(\d+) test\/a\/some\.test\.ts 50\n$/;
  const [, first] = printed.exec(await run('50')) ?? [];
  const [, next] = printed.exec(await run('50')) ?? [];
  expect(first).toMatch(/^\d+$/);
  expect(next).not.toBe(first);
  expect(await run('50', 'test/a', `--seed=${next}`)).toBe(`test/a --seed=${next} 50\n`);
});

test('npm test skips the requests-oauthlib tests with a message if the library is missing', async () => {
  await using project = await createSmallProject({
    'node_modules/jest/bin/jest.js': '',
    'python/requests_oauthlib.py': 'raise ImportError',
    'test/a.test.ts': `import '../scripts/requests-oauthlib.mjs';`,
  });
  const env = { ...NO_PROGRAMS, PYTHONPATH: `${project.folder}/python`, CI: '' };
  expect(await project.run('test.mjs', { env })).toEqual({
    code: 0,
    stdout: '',
    stderr: expect.stringMatching(/^The requests-oauthlib tests are skipped: requests-oauthlib is missing/),
  });
});

test('on a signal, npm test stops Jest before exiting', async () => {
  await using project = await createSmallProject({
    'node_modules/jest/bin/jest.js': `
      setInterval(() => {}, 1000);
      process.on('SIGTERM', () => { console.log('ended'); process.exit(0); });
      console.log('ready');`,
  });
  const child = project.start('test.mjs');
  const [ready] = (await once(child.stdout, 'data')) as [Buffer];
  expect(ready.toString()).toBe('ready\n');
  child.kill('SIGTERM');
  const exit = once(child, 'exit') as Promise<[number | null]>;
  const [rest, [code]] = await Promise.all([text(child.stdout), exit]);
  expect({ rest, code }).toEqual({ rest: 'ended\n', code: 143 });
});
