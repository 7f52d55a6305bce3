import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
import { CLIENT_ID, SESSION_KEY } from '../support/constants.ts';
import { createDotEnvFolder } from '../support/dot-env-folder.ts';
import { freePort } from '../support/fleet/free-port.ts';
import { eventually } from '../support/eventually.ts';
import { startProgram, type Program } from '../support/programs.ts';
import { exchangeBytes } from '../support/raw-client.ts';
import { useTestApp } from '../support/fixtures.ts';

const testApp = useTestApp();
afterEach(() => {
  testApp.intercept = () => false;
});

const variables = () => ({
  PORT: '0',
  PUBLIC_URL: 'http://localhost:3000',
  SERVICE_URL: testApp.serviceOrigin,
  CLIENT_ID,
  CLIENT_SECRET: 'a-client-secret',
  SCOPES: 'room:read',
  REDIS_URL: testApp.privateRedis.url,
  SESSION_KEYS: SESSION_KEY,
});

/** Runs `npm start` with the Redis, the service and the session key of the test app. */
const npmStart = async (env = {}) => startProgram('npm', ['start', '--silent'], { ...variables(), ...env });

/** Runs the same script as `npm start`, without npm. */
const start = async (env = {}, nodeOptions: readonly string[] = []) =>
  startProgram(process.execPath, [...nodeOptions, 'scripts/start.mjs'], { ...variables(), ...env });

/** Resolves with the URL of a program once the program is ready. A program starts listening before it connects to Redis. */
async function readyUrl(program: Program): Promise<string> {
  const [, url = ''] = await program.waitForOutput(/"url":"([^"]+)".*"msg":"listening"/);
  await eventually(async () => (await fetch(`${url}/readyz`)).ok);
  return url;
}

/** Returns the URL of a module that makes a process fail on SIGUSR2 with an unhandled error from a Redis command. */
const failing = (how: 'throw' | 'Promise.reject') =>
  `data:text/javascript,${encodeURIComponent(`
  process.on('SIGUSR2', () => {
    const { CLIENT_SECRET: secret } = process.env;
    const command = { name: 'auth', args: [secret] };
    const error = Object.assign(new Error('WRONGPASS ' + secret), { name: 'ReplyError', command });
    ${how}(error);
  });`)}`;

/** Sends an API request to which the service does not respond. Resolves once the service has received the request. */
async function startSlowRequest(program: Program): Promise<{ outcome: Promise<unknown> }> {
  const url = await readyUrl(program);
  const { cookie } = await testApp.createSession();
  let outcome: Promise<unknown> = Promise.resolve();
  await new Promise<void>((resolve) => {
    testApp.intercept = () => {
      resolve();
      return true;
    };
    outcome = fetch(url + SLOW, { headers: { cookie } }).catch(() => 'cut off');
  });
  return { outcome };
}
const SLOW = '/api/public/v1/slow';

describe('npm start', () => {
  test('serves metrics, and nothing else, on the metrics port', async () => {
    const port = await freePort();
    await using program = await start({ METRICS_PORT: String(port) });
    const url = await readyUrl(program);
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    expect(text).toMatch(/^cloakroom_api_requests_in_flight 0$/m);
    expect(text).toMatch(/^process_cpu_seconds_total /m);
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(404);
    expect((await fetch(`${url}/metrics`)).status).toBe(404);
  });

  test('names METRICS_PORT if the metrics port is in use, and exits with 1', async () => {
    const taken = String(testApp.config.port);
    await using program = await start({ METRICS_PORT: taken });
    const { code, output } = await program.waitForExit();
    expect(code).toBe(1);
    expect(output).toContain('METRICS_PORT');
  });

  test('logs its URL, serves requests, and exits with 0 on SIGTERM', async () => {
    await using program = await npmStart();
    const url = await readyUrl(program);
    expect((await fetch(url)).status).toBe(200);
    program.child.kill('SIGTERM');
    const { code, output } = await program.waitForExit();
    expect(code).toBe(0);
    expect(output).toContain('"msg":"shutdown complete"'); // even the last line is flushed
    const lines = output.split('\n').filter((line) => line !== '' && line !== 'Building …');
    for (const line of lines) expect(() => JSON.parse(line) as unknown).not.toThrow();
  });

  test('never prints a request target that is not a path, even in a Node warning', async () => {
    await using program = await start();
    const port = Number(new URL(await readyUrl(program)).port);
    const head = 'GET http://host:a-password/?code=a-code HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';
    expect((await exchangeBytes(port, Buffer.from(head))).toString()).toMatch(/^HTTP\/1\.1 400 /);
    program.child.kill('SIGTERM');
    const { output } = await program.waitForExit();
    expect(output).toContain('"path":"not a path"');
    expect(output).not.toMatch(/a-password|a-code/);
  });

  test('logs its version and revision with its URL', async () => {
    await using program = await start({ BUILD_VERSION: '7.1', BUILD_REVISION: '4bf92f35' });
    const [line] = await program.waitForOutput(/^.*"msg":"listening".*$/m);
    expect(JSON.parse(line)).toMatchObject({ version: '7.1', revision: '4bf92f35' });
  });

  test('runs in production mode and reports all problems together, without secrets', async () => {
    const wrong = { SESSION_KEYS: 'short-secret', SCOPES: '', PAGE_SIZE: '101' };
    await using program = await start({ PUBLIC_URL: 'http://app.example', ...wrong });
    const { code, output } = await program.waitForExit();
    expect(code).toBe(1);
    expect(output).toContain('PUBLIC_URL must be https in production');
    for (const name of Object.keys(wrong)) expect(output).toContain(name);
    expect(output).not.toMatch(/short-secret|a-client-secret/);
  });

  test.each([
    ['production', 'CLIENT_ID', true],
    ['production', 'PUBLIC_URL', true],
    ['production', 'none', false],
    ['development', 'CLIENT_ID', false],
  ])('in %s with %s missing, reports that .env is not read: %s', async (mode, missing, says) => {
    await using folder = await createDotEnvFolder('PORT=http\n');
    const { PORT: _fromFile, ...set } = variables();
    const env = { ...set, NODE_ENV: mode, PAGE_SIZE: 'a problem in any case', [missing]: '' };
    const { code, output } = await folder.start('dist/main.js', env);
    expect(code).toBe(1);
    expect(output).toContain('PAGE_SIZE must be');
    expect(output.includes('The .env in this folder is not read in production')).toBe(says);
    expect(output.includes('PORT must be')).toBe(mode === 'development');
  });

  test('reports that .env can’t be read, and exits with 1', async () => {
    await using folder = await createDotEnvFolder(null);
    for (const entry of ['dist/main.js', 'dist/cli/doctor.js']) {
      const { code, output } = await folder.start(entry, { NODE_ENV: 'development' });
      expect([code, output]).toEqual([1, expect.stringMatching(/^\.env can't be read \(\w+\)\n$/)]);
    }
  });

  test('loads no module of a package, because all are in the bundle', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'cloakroom-installed-'));
    try {
      for (const name of ['dist', 'views', 'package.json'])
        await cp(name, join(folder, name), { recursive: true });
      await using program = await startProgram(process.execPath, [join(folder, 'dist/main.js')], variables());
      await readyUrl(program);
      program.child.kill('SIGTERM');
      expect((await program.waitForExit()).code).toBe(0);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test('starts without Redis but is not ready', async () => {
    await using program = await start({ REDIS_URL: 'redis://127.0.0.1:1' });
    const [, url = ''] = await program.waitForOutput(/"url":"([^"]+)".*"msg":"listening"/);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    expect((await fetch(`${url}/readyz`)).status).toBe(503);
    program.child.kill('SIGTERM');
    expect((await program.waitForExit()).code).toBe(0);
  });

  test('exits with 1 if a request takes longer than SHUTDOWN_SECONDS, and does not log a service failure', async () => {
    await using program = await start({ SHUTDOWN_SECONDS: '1' });
    const slow = await startSlowRequest(program);
    program.child.kill('SIGTERM');
    const { code, output } = await program.waitForExit();
    expect(code).toBe(1);
    expect(await slow.outcome).toBe('cut off');
    const behind = output.slice(output.indexOf('"msg":"draining"')).split('\n').slice(1, -1);
    const [line = {}, ...more] = behind.map((text) => JSON.parse(text) as object);
    expect(line).toMatchObject({ msg: 'request', path: SLOW, cutOff: true });
    expect(line).not.toHaveProperty('status');
    expect(more).toEqual([expect.objectContaining({ msg: 'shutdown complete', inTime: false })]);
  });

  test('drains on Ctrl-C even though npm forwards the signal a second time', async () => {
    await using program = await npmStart();
    await readyUrl(program);
    program.signalGroup('SIGINT');
    await program.waitForOutput(/"msg":"shutdown complete"/);
    expect((await program.waitForExit()).code).toBe(0);
  });

  test('ignores SIGHUP while draining', async () => {
    await using program = await npmStart({ SHUTDOWN_SECONDS: '2' });
    const slow = await startSlowRequest(program);
    program.child.kill('SIGTERM');
    await program.waitForOutput(/"msg":"draining"/);
    program.signalGroup('SIGHUP'); // npm itself exits on SIGHUP
    expect(await slow.outcome).toBe('cut off');
    const { output } = await program.waitForExit();
    expect(output).toContain('"msg":"shutdown complete"');
    expect(output).not.toContain('no secrets to reload');
  });

  test('exits immediately on a second signal', async () => {
    await using program = await npmStart();
    const slow = await startSlowRequest(program);
    program.child.kill('SIGTERM');
    await program.waitForOutput(/"msg":"draining"/);
    await delay(400); // npm would have forwarded the first signal by now
    program.child.kill('SIGTERM');
    expect(await slow.outcome).toBe('cut off');
    expect((await program.waitForExit()).output).not.toContain('"msg":"shutdown complete"');
  });

  test.each(['throw', 'Promise.reject'] as const)(
    'exits with 1 and logs one line without secrets on an uncaught error: %s',
    async (how) => {
      await using program = await start({}, ['--import', failing(how)]);
      await program.waitForOutput(/"msg":"listening"/);
      program.child.kill('SIGUSR2');
      const { code, output } = await program.waitForExit();
      const lines = output.split('\n').slice(0, -1);
      expect([code, lines.filter((line) => !line.startsWith('{"level":'))]).toEqual([1, []]);
      expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({
        level: 'fatal',
        msg: 'uncaught error',
        err: { type: 'ReplyError', message: 'Redis replied WRONGPASS' },
      });
      expect(output).not.toContain('a-client-secret');
    },
  );

  test('logs the name and code of a Node warning as JSON', async () => {
    const warning = `process.on('SIGUSR2', () => process.emitWarning('/?code=secret', 'SomeWarning', 'SOME'));`;
    const nodeOptions = ['--import', `data:text/javascript,${encodeURIComponent(warning)}`];
    await using program = await start({}, nodeOptions);
    await program.waitForOutput(/"msg":"listening"/);
    program.child.kill('SIGUSR2');
    const [line] = await program.waitForOutput(/\{.*"msg":"node warning"\}/);
    expect(JSON.parse(line)).toMatchObject({ level: 'warn', warning: 'SomeWarning', code: 'SOME' });
    program.child.kill('SIGTERM');
    const { output } = await program.waitForExit();
    expect(output.split('\n').filter((each) => each !== '' && !each.startsWith('{'))).toEqual([]);
    expect(output).not.toContain('secret');
  });

  test('logs a URL at which sign-in works', async () => {
    await using program = await start({ NODE_ENV: 'development', PUBLIC_URL: '' });
    const url = await readyUrl(program);
    expect(new URL(url).hostname).toBe('localhost');
    const login = await fetch(`${url}/auth/login`, { redirect: 'manual' });
    const service = new URL(login.headers.get('location') ?? '');
    expect(service.searchParams.get('redirect_uri')).toBe(`${url}/auth/callback`);
  });
});
