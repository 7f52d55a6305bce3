import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { MINIMAL_ENV, startContainer } from '../support/containers/container.ts';
import { APP_PROCESS, docker, IMAGE, inspect, tryDocker } from '../support/containers/docker.ts';
import { packageVersion } from '../support/package-version.ts';
import { eventually } from '../support/eventually.ts';
import { useFixture } from '../support/fixtures.ts';

const HARDENED = ['--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'];

interface ImageConfig {
  readonly User: string;
  readonly StopSignal: string;
  readonly Entrypoint: readonly string[];
  readonly Env: readonly string[];
  readonly Healthcheck: { readonly Test: readonly string[] };
  readonly Labels: Readonly<Record<string, string>>;
}

interface File {
  readonly path: string;
  readonly owner: number;
  readonly mode: number;
}

describe('the image', () => {
  let config: ImageConfig;
  let files: File[];

  beforeAll(async () => {
    config = await inspect(IMAGE, '.Config');
    const list = ['run', '--rm', '--network', 'none', '--entrypoint', 'node', IMAGE, '--eval', LIST_FILES];
    files = JSON.parse(await docker(list)) as File[];
  });

  test('runs Node under an init process as a non-root user with a numeric id, and never uses a shell', () => {
    expect(config).toMatchObject({
      User: '1000:1000',
      StopSignal: 'SIGTERM',
      Entrypoint: expect.arrayContaining(['tini', 'node']),
      Healthcheck: { Test: ['CMD', 'node', 'dist/cli/health.js'] },
      Env: expect.arrayContaining(['NODE_ENV=production', 'HOST=0.0.0.0', 'PORT=3000']),
    });
    expect(JSON.stringify(config)).not.toMatch(/CMD-SHELL|"(?:\/bin\/)?sh"/);
  });

  test('has labels with its title, revision, version and base image', () => {
    const label = (name: string) => config.Labels[`org.opencontainers.image.${name}`];
    expect(label('title')).toBe('Cloakroom');
    expect(label('revision')).toBe('of-the-test');
    expect(label('version')).toBe(packageVersion);
    expect(label('base.name')).toMatch(/^docker\.io\/library\/debian:/);
  });

  test('contains the app and nothing that only the build needs', () => {
    const names = (folder: string) => {
      const inside = files.filter(({ path }) => path.startsWith(`${folder}/`));
      const first = inside.map(({ path }) => path.slice(folder.length + 1).split('/', 1)[0] ?? '');
      return [...new Set(first)].toSorted();
    };
    expect(names('/app')).toEqual(['dist', 'node_modules', 'package.json', 'views']);
    const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as Lock;
    const forDevelopment = Object.entries(lock.packages).filter(([, { dev }]) => dev === true);
    const isHere = ([path]: [string, unknown]) => files.some((file) => file.path.startsWith(`/app/${path}/`));
    expect(forDevelopment.filter(isHere)).toEqual([]);
    expect(names('/usr/local/bin')).toEqual(['node']);
    expect(names('/usr/local/lib')).toEqual([]);
  });

  test('has no file that the app can change or that looks like a secret', () => {
    const own = files.filter(({ path }) => path.startsWith('/app/') || path.startsWith('/usr/local/'));
    expect(own.length).toBeGreaterThan(100);
    expect(own.filter(({ owner, mode }) => owner !== 0 || (mode & 0o022) !== 0)).toEqual([]);
    expect(own.filter(({ mode }) => (mode & 0o004) === 0)).toEqual([]); // the app can read all these files
    const ofPackages = (path: string) => path.startsWith('/app/node_modules/');
    expect(own.filter(({ path }) => !ofPackages(path) && /\/\.|\.(?:pem|key)$/.test(path))).toEqual([]);
  });

  test('has a code cache that V8 accepts', async () => {
    const args = ['run', '--rm', '--network', 'none', ...HARDENED, '--entrypoint', 'node', IMAGE];
    expect(await docker([...args, '--eval', SHOW_REJECTION])).toBe('false');
  });

  test('reports the missing variables and exits if it has no configuration', async () => {
    const { code, output } = await tryDocker(['run', '--rm', '--network', 'none', IMAGE]);
    expect(code).toBe(1);
    expect(output).toContain('SESSION_KEYS is required');
    expect(output).not.toContain('    at '); // no stack trace
  });
});

/** Resolves with the HEALTHCHECK status of a container. */
const healthOf = async (container: { readonly name: string }) =>
  inspect<string>(container.name, '.State.Health.Status');

describe('a container without privileges or network access', () => {
  const container = useFixture(async () =>
    startContainer([...HARDENED, '--network', 'none', ...MINIMAL_ENV]),
  );
  beforeAll(async () => eventually(async () => (await healthOf(container)) === 'healthy', 60_000));

  test('logs its version and revision', async () => {
    const log = await docker(['logs', container.name]);
    const line = log.split('\n').find((each) => each.includes('"msg":"listening"')) ?? '{}';
    expect(JSON.parse(line)).toMatchObject({ version: packageVersion, revision: 'of-the-test' });
  });

  test('is healthy while Redis and the service are unreachable', async () => {
    const script = `fetch('http://127.0.0.1:3000/readyz').then(async (response) => console.log(response.status, await response.text()))`;
    expect(await container.evaluate(script)).toBe('503 {"status":"not ready","missing":["redis"]}');
  });

  test('runs without root, capabilities or new privileges', async () => {
    const status = await container.evaluate(
      `console.log(require('node:fs').readFileSync('/proc/1/status', 'utf8'))`,
    );
    expect(status).toMatch(/^Name:\ttini$/m);
    expect(status).toMatch(/^Uid:\t1000\t1000\t1000\t1000$/m);
    expect(status).toMatch(/^CapEff:\t0+$/m);
    expect(status).toMatch(/^NoNewPrivs:\t1$/m);
  });

  test('can’t write anywhere', async () => {
    const write = `try { require('node:fs').writeFileSync(FILE, ''); } catch (error) { console.log(error.code); }`;
    for (const file of ['/app/a', '/app/dist/main.js', '/tmp/a']) {
      const code = await container.evaluate(write.replace('FILE', JSON.stringify(file)));
      expect(code).toMatch(/^(?:EROFS|EACCES)$/);
    }
  });

  test('reaps a process whose parent has exited', async () => {
    await container.evaluate(
      `require('node:child_process').spawn('sleep', ['0.1'], { detached: true, stdio: 'ignore' }).unref()`,
    );
    const sleeping = `const { readdirSync, readFileSync } = require('node:fs');
      console.log(readdirSync('/proc').filter((id) => /^[0-9]+$/.test(id))
        .some((id) => { try { return readFileSync('/proc/' + id + '/comm', 'utf8') === 'sleep\\n' } catch { return false } }))`;
    await eventually(async () => (await container.evaluate(sleeping)) === 'false');
    expect(await container.evaluate(sleeping)).toBe('false');
  });
});

test('a container whose app no longer responds becomes unhealthy', async () => {
  const often = ['--health-interval', '1s', '--health-retries', '1', '--health-start-period', '0s'];
  await using container = await startContainer(['--network', 'none', ...often, ...MINIMAL_ENV]);
  await eventually(async () => (await healthOf(container)) === 'healthy', 60_000);
  // Suspend the app, but not tini.
  await container.evaluate(`process.kill(${APP_PROCESS}, 'SIGSTOP')`);
  await eventually(async () => (await healthOf(container)) === 'unhealthy', 60_000);
  expect(await healthOf(container)).toBe('unhealthy');
});

interface Lock {
  readonly packages: Readonly<Record<string, { readonly dev?: boolean }>>;
}

/** A script that loads the server and prints whether V8 rejects the code cache. Without a cache, it prints `undefined`. */
const SHOW_REJECTION = `
  const vm = require('node:vm');
  vm.Script = class extends vm.Script {
    constructor(...args) {
      super(...args);
      console.log(String(this.cachedDataRejected));
    }
  };
  require('node:module').syncBuiltinESMExports();
  import('/app/dist/load-server.js').then(({ loadServer }) => loadServer());
`;

/** A script that lists all files in the two folders that the Dockerfile populates. */
const LIST_FILES = `
  const { readdirSync, lstatSync } = require('node:fs');
  const files = ['/app', '/usr/local'].flatMap((folder) => readdirSync(folder, { recursive: true }).map((name) => folder + '/' + name));
  const found = files.map((path) => ({ path, stats: lstatSync(path) })).filter(({ stats }) => stats.isFile());
  console.log(JSON.stringify(found.map(({ path, stats: { uid, mode } }) => ({ path, owner: uid, mode: mode & 0o777 }))));
`;
