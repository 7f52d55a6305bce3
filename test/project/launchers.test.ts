import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import { createSmallProject } from './small-project.ts';

/** Prints the arguments of jest except the first, which every run has. */
const PRINT_SEED = `console.log(...process.argv.slice(3), process.env['PROPERTY_TIMES'] ?? 1);\n`;
const PRINT_MODE = `console.log(process.env['NODE_ENV']);\n`;

/** A lock file with these packages: name@version, or a package for development. */
function lock(...packages: string[]): string {
  const entries = packages.map((each) => {
    const [name, version] = each.split('@');
    return [`node_modules/${name}`, version === undefined ? { dev: true } : { version }];
  });
  return JSON.stringify({ packages: Object.fromEntries(entries) as object });
}

/** What a launcher prints that can't go on. */
const refusal = (stderr: unknown) => ({ code: 1, stdout: '', stderr });

test('npm start runs in production mode unless NODE_ENV says otherwise', async () => {
  await using project = await createSmallProject({ 'dist/main.js': PRINT_MODE });
  expect((await project.run('start.mjs', { env: { NODE_ENV: '' } })).stdout).toBe('production\n');
  expect((await project.run('start.mjs', { env: { NODE_ENV: 'development' } })).stdout).toBe('development\n');
});

test('a production install runs its build and installs nothing', async () => {
  await using project = await createSmallProject({
    'src/main.ts': 'newer than dist',
    'dist/main.js': PRINT_MODE,
    'package-lock.json': lock('a@1.0.0', 'typescript'),
    'node_modules/.package-lock.json': lock('a@1.0.0'),
  });
  expect(await project.run('start.mjs', { env: { NODE_ENV: '' } })).toMatchObject({
    code: 0,
    stdout: 'production\n',
    stderr: expect.not.stringContaining('Installing'),
  });
});

test('a production install without a build installs the packages for development', async () => {
  await using project = await createSmallProject({
    'src/main.ts': '',
    'package-lock.json': lock('a@1.0.0', 'typescript'),
    'node_modules/.package-lock.json': lock('a@1.0.0'),
  });
  // Without npm on the PATH it stops here.
  expect(await project.run('start.mjs', { env: { PATH: '' } })).toEqual(
    refusal(`There is no dist, nor what makes it: the packages for development are installed, too.
Installing packages …
npm could not be started (ENOENT).
`),
  );
});

test('a container without src and without npm’s lock file runs its build', async () => {
  await using project = await createSmallProject({
    'dist/main.js': PRINT_MODE,
    'node_modules/.package-lock.json': '',
  });
  expect(await project.run('start.mjs')).toMatchObject({ code: 0, stderr: '' });
});

test('a copy with neither src nor dist is refused', async () => {
  await using project = await createSmallProject({});
  expect(await project.run('start.mjs')).toEqual(refusal('There is neither src nor dist: nothing to run.\n'));
});

test('packages of another version are installed again', async () => {
  await using project = await createSmallProject({
    'src/main.ts': '',
    'package-lock.json': lock('a@2.0.0'),
    'node_modules/.package-lock.json': lock('a@1.0.0'),
  });
  // Without npm on the PATH it stops here.
  expect(await project.run('start.mjs', { env: { PATH: '' } })).toEqual(
    refusal('Installing packages …\nnpm could not be started (ENOENT).\n'),
  );
});

test('a Node that is too old is named in one line', async () => {
  await using project = await createSmallProject({ 'dist/main.js': PRINT_MODE });
  const older = `Object.defineProperty(process, 'versions', { value: { node: '20.18.3' } })`;
  const nodeOptions = ['--import', `data:text/javascript,${encodeURIComponent(older)}`];
  expect(await project.run('start.mjs', { nodeOptions })).toEqual(
    refusal('Cloakroom needs Node 20.19 or newer; this is Node 20.18.3.\n'),
  );
});

test('a missing program is named with the command that installs it', async () => {
  await using project = await createSmallProject({ 'dist/local-service/main.js': '' });
  expect(await project.run('service.mjs', { env: { PATH: '', REDIS_URL: '' } })).toEqual(
    refusal(
      'redis-server is missing: install it, e.g. on Debian or Ubuntu: sudo apt-get install redis-server\n',
    ),
  );
});

test('the tests in containers name what they need where Docker is missing', async () => {
  await using project = await createSmallProject({});
  expect(await project.run('test-containers.mjs', { env: { PATH: '' } })).toEqual(
    refusal('docker is missing: these tests need Docker 20.10 and Compose 2.20 or newer.\n'),
  );
});

test('with REDIS_URL set redis-server is not needed', async () => {
  await using project = await createSmallProject({ 'dist/local-service/main.js': 'console.log("runs");' });
  const outcome = await project.run('service.mjs', { env: { PATH: '', REDIS_URL: 'redis://localhost' } });
  expect(outcome).toEqual({ code: 0, stdout: 'runs\n', stderr: '' });
});

test('with REDIS_URL set in .env redis-server is not needed outside of production', async () => {
  await using project = await createSmallProject({
    '.env': 'REDIS_URL=redis://localhost',
    'dist/local-service/main.js': 'console.log("runs");',
  });
  const env = { PATH: '', NODE_ENV: '', REDIS_URL: undefined };
  expect(await project.run('service.mjs', { env })).toEqual({ code: 0, stdout: 'runs\n', stderr: '' });
  expect(await project.run('service.mjs', { env: { ...env, NODE_ENV: 'production' } })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('redis-server is missing'),
  });
});

test('npm test passes its arguments to jest and returns its exit code', async () => {
  await using project = await createSmallProject({
    'node_modules/jest/bin/jest.js': 'console.log(process.argv.slice(3).join(" ")); process.exitCode = 3;',
    'test/config/some.test.ts': '',
  });
  expect(await project.run('test.mjs', { args: ['test/config', '-t', 'a name'] })).toMatchObject({
    code: 3,
    stdout: '--seed=1 test/config -t a name\n',
  });
});

test('npm test uses the same seed each time, unless an argument names another', async () => {
  await using project = await createSmallProject({ 'node_modules/jest/bin/jest.js': PRINT_SEED });
  expect((await project.run('test.mjs')).stdout).toMatch(/^--seed=1 .* 1\n$/);
  expect((await project.run('test.mjs', { args: ['--seed=7'] })).stdout).toMatch(/^--seed=7 .* 1\n$/);
});

test('npm run test:properties runs the files with properties many times, with a new seed', async () => {
  await using project = await createSmallProject({
    'node_modules/jest/bin/jest.js': PRINT_SEED,
    'test/room/some.test.ts': `import { fc } from '../support/properties.ts';`,
    'test/room/other.test.ts': '',
  });
  const printed = /^--seed=(\d+) test\/room\/some\.test\.ts 50\n$/;
  const [, first = ''] =
    printed.exec((await project.run('test-properties.mjs', { args: ['50'] })).stdout) ?? [];
  const [, next = ''] =
    printed.exec((await project.run('test-properties.mjs', { args: ['50'] })).stdout) ?? [];
  expect(first).toMatch(/^\d+$/);
  expect(next).not.toBe(first);
  const again = ['50', 'test/room', `--seed=${next}`];
  expect((await project.run('test-properties.mjs', { args: again })).stdout).toBe(
    `test/room --seed=${next} 50\n`,
  );
});

test('npm test names the tests that it skips where requests-oauthlib is missing', async () => {
  await using project = await createSmallProject({
    'node_modules/jest/bin/jest.js': '',
    'python/requests_oauthlib.py': 'raise ImportError',
    'test/a.test.ts': `import '../scripts/requests-oauthlib.mjs';`,
  });
  // Without apt-get on the PATH.
  const env = { PATH: '', PYTHONPATH: `${project.folder}/python`, CI: '' };
  expect(await project.run('test.mjs', { env })).toEqual({
    code: 0,
    stdout: '',
    stderr: expect.stringMatching(/^Its tests are skipped: requests-oauthlib is missing/),
  });
});

test('a signal to npm test ends jest first', async () => {
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
