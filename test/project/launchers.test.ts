import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import { createSmallProject } from './small-project.ts';

/** But for the first argument, which each run of jest has. */
const PRINT_SEED = `console.log(...process.argv.slice(3), process.env['PROPERTY_TIMES'] ?? 1);\n`;
const PRINT_MODE = `console.log(process.env['NODE_ENV']);\n`;

test('npm start runs in production mode where nothing else is said', async () => {
  await using project = await createSmallProject({ 'dist/main.js': PRINT_MODE });
  expect((await project.run('start.mjs', { env: { NODE_ENV: '' } })).stdout).toBe('production\n');
  expect((await project.run('start.mjs', { env: { NODE_ENV: 'development' } })).stdout).toBe('development\n');
});

test('a production install runs the build that it has, and installs nothing', async () => {
  await using project = await createSmallProject({
    'src/main.ts': 'newer than dist',
    'dist/main.js': PRINT_MODE,
    'package-lock.json': JSON.stringify({
      packages: { 'node_modules/a': { version: '1.0.0' }, 'node_modules/typescript': { dev: true } },
    }),
    'node_modules/.package-lock.json': JSON.stringify({
      packages: { 'node_modules/a': { version: '1.0.0' } },
    }),
  });
  expect(await project.run('start.mjs', { env: { NODE_ENV: '' } })).toMatchObject({
    code: 0,
    stdout: 'production\n',
    stderr: expect.not.stringContaining('Installing'),
  });
});

test('a production install without a build says that it needs more to make one', async () => {
  const lock = (...names: string[]) =>
    JSON.stringify({
      packages: Object.fromEntries(names.map((name) => [`node_modules/${name}`, { dev: name !== 'a' }])),
    });
  await using project = await createSmallProject({
    'src/main.ts': '',
    'package-lock.json': lock('a', 'typescript'),
    'node_modules/.package-lock.json': lock('a'),
  });
  // Without npm on the PATH it comes no further.
  expect(await project.run('start.mjs', { env: { PATH: '' } })).toEqual({
    code: 1,
    stdout: '',
    stderr: `There is no dist, nor what makes it: the packages for development are installed, too.
Installing packages …
npm could not be started (ENOENT).
`,
  });
});

test('a container without src and without npm’s notes runs the build that it has', async () => {
  await using project = await createSmallProject({
    'dist/main.js': PRINT_MODE,
    'node_modules/.package-lock.json': '',
  });
  expect(await project.run('start.mjs')).toMatchObject({ code: 0, stderr: '' });
});

test('a copy with neither src nor dist says so', async () => {
  await using project = await createSmallProject({});
  expect(await project.run('start.mjs')).toEqual({
    code: 1,
    stdout: '',
    stderr: 'There is neither src nor dist: nothing to run.\n',
  });
});

test('packages of another version are installed anew', async () => {
  await using project = await createSmallProject({
    'src/main.ts': '',
    'package-lock.json': JSON.stringify({ packages: { 'node_modules/a': { version: '2.0.0' } } }),
    'node_modules/.package-lock.json': JSON.stringify({
      packages: { 'node_modules/a': { version: '1.0.0' } },
    }),
  });
  // Without npm on the PATH it can only fail.
  expect(await project.run('start.mjs', { env: { PATH: '' } })).toEqual({
    code: 1,
    stdout: '',
    stderr: 'Installing packages …\nnpm could not be started (ENOENT).\n',
  });
});

test('a Node that is too old is named in one line', async () => {
  await using project = await createSmallProject({ 'dist/main.js': PRINT_MODE });
  const older = `Object.defineProperty(process, 'versions', { value: { node: '20.18.3' } })`;
  const nodeOptions = ['--import', `data:text/javascript,${encodeURIComponent(older)}`];
  expect(await project.run('start.mjs', { nodeOptions })).toEqual({
    code: 1,
    stdout: '',
    stderr: 'Cloakroom needs Node 20.19 or newer; this is Node 20.18.3.\n',
  });
});

test('a missing program is named with the command that installs it', async () => {
  await using project = await createSmallProject({ 'dist/local-service/main.js': '' });
  expect(await project.run('service.mjs', { env: { PATH: '', REDIS_URL: '' } })).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'redis-server is missing: install it, e.g. on Debian or Ubuntu: sudo apt-get install redis-server\n',
  });
});

test('the tests in containers say what they need where there is no Docker', async () => {
  await using project = await createSmallProject({});
  expect(await project.run('test-containers.mjs', { env: { PATH: '' } })).toEqual({
    code: 1,
    stdout: '',
    stderr: 'docker is missing: these tests need Docker 20.10 and Compose 2.20 or newer.\n',
  });
});

test('a Redis that is given needs no redis-server', async () => {
  await using project = await createSmallProject({ 'dist/local-service/main.js': 'console.log("runs");' });
  const outcome = await project.run('service.mjs', { env: { PATH: '', REDIS_URL: 'redis://localhost' } });
  expect(outcome).toEqual({ code: 0, stdout: 'runs\n', stderr: '' });
});

test('a Redis that is given in .env needs none, either', async () => {
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

test('npm test passes arguments on, and jest’s exit code back', async () => {
  await using project = await createSmallProject({
    'node_modules/jest/bin/jest.js': 'console.log(process.argv.slice(3).join(" ")); process.exitCode = 3;',
    'test/config/some.test.ts': '',
  });
  expect(await project.run('test.mjs', { args: ['test/config', '-t', 'a name'] })).toMatchObject({
    code: 3,
    stdout: '--seed=1 test/config -t a name\n',
  });
});

test('npm test draws the same by lot each time, unless it is given another seed', async () => {
  await using project = await createSmallProject({ 'node_modules/jest/bin/jest.js': PRINT_SEED });
  expect((await project.run('test.mjs')).stdout).toMatch(/^--seed=1 .* 1\n$/);
  expect((await project.run('test.mjs', { args: ['--seed=7'] })).stdout).toMatch(/^--seed=7 .* 1\n$/);
});

test('npm run test:properties draws a fresh seed for the files with properties, and many more runs', async () => {
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

test('npm test says which tests are skipped where requests-oauthlib is missing', async () => {
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
