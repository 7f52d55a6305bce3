import { once } from 'node:events';
import { readdir, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { startPrivateRedis } from '../../src/redis/private-redis.ts';
import { eventually } from '../support/eventually.ts';
import { startProgram, type Program } from '../support/programs.ts';

const FREE_PORTS = { PORT: '0', LOCAL_SERVICE_PORT: '0' };
const npmDemo = async () => startProgram('npm', ['run', '--silent', 'demo'], FREE_PORTS);
/** Starts the same script as `npm run demo`, without npm. */
const demo = async (env = {}) =>
  startProgram(process.execPath, ['scripts/demo.mjs'], { ...FREE_PORTS, ...env });

async function urlsOf(program: Program): Promise<[app: string, service: string]> {
  const [, app = ''] = await program.waitForOutput(/Open\s+(\S+)/);
  const [, service = ''] = await program.waitForOutput(/local service runs at (\S+?)\.?\s/);
  return [app, service];
}

/** Checks that the program has left no process, file or open port behind. */
async function expectNothingLeft(program: Program, ...urls: string[]): Promise<void> {
  await eventually(async () => (await program.leftovers()).length === 0);
  await eventually(async () => (await readdir(program.folder)).length === 0);
  const isClosed = async (url: string) => (await fetch(url).catch(() => null)) === null;
  for (const url of urls) await eventually(async () => isClosed(url));
}

describe('the demo', () => {
  test('starts Cloakroom, the local service and Redis, prints the URLs, and leaves nothing behind on Ctrl-C', async () => {
    await using program = await npmDemo();
    const [app, service] = await urlsOf(program);
    await program.waitForOutput(/demo \/ demo/);
    await program.waitForOutput(/Ctrl-C/);
    expect(program.lines().join()).not.toContain('Cloakroom listens');
    expect(await (await fetch(`${app}/readyz`)).json()).toEqual({ status: 'ready' });
    expect((await fetch(`${service}/healthz`)).status).toBe(200);
    expect(await program.leftovers()).not.toEqual([]);

    program.signalGroup('SIGINT'); // a terminal sends SIGINT to the entire process group, and npm forwards it as well
    expect((await program.waitForExit()).code).toBe(0);
    await expectNothingLeft(program, app, service);
  });

  test('prints the address of Cloakroom if it differs from PUBLIC_URL', async () => {
    await using program = await demo({ PUBLIC_URL: 'http://localhost:5173' });
    const [, url = ''] = await program.waitForOutput(/Forward requests for the address above to (\S+),\s/);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
  });

  test('prints the URL for injecting faults if faults are enabled', async () => {
    await using program = await demo({ LOCAL_SERVICE_FAULTS: 'true' });
    const [, faults = ''] = await program.waitForOutput(/fail, open (\S+?)\.\s/);
    expect(await (await fetch(faults)).json()).toEqual({ faults: [] });
  });

  test.each([
    ['npm', 'SIGINT', npmDemo],
    ['npm', 'SIGTERM', npmDemo],
    ['npm', 'SIGKILL', npmDemo],
    ['the demo itself', 'SIGKILL', demo],
  ] as const)('leaves nothing behind when only %s receives %s', async (_which, signal, start) => {
    await using program = await start();
    const urls = await urlsOf(program);
    program.child.kill(signal);
    await expectNothingLeft(program, ...urls);
  });

  test.each(['PORT', 'LOCAL_SERVICE_PORT'])('reports that the port in %s is in use', async (variable) => {
    const holder = createServer().listen(0, '127.0.0.1');
    await once(holder, 'listening');
    const { port } = holder.address() as AddressInfo;
    await using program = await demo({ [variable]: String(port) });
    const { code, output } = await program.waitForExit();
    holder.close();
    expect(code).toBe(1);
    // In a fresh clone, the output starts with a line about the build.
    expect(output.trim().split('\n').at(-1)).toBe(
      `127.0.0.1:${port} is already in use. Free it, or set ${variable} to another port.`,
    );
    await expectNothingLeft(program);
  });

  test('uses the Redis in REDIS_URL_FILE instead of starting one', async () => {
    await using redis = await startPrivateRedis();
    const file = join(dirname(redis.url.replace('redis+unix://', '')), 'url');
    await writeFile(file, redis.url);
    await using program = await demo({ REDIS_URL_FILE: file });
    await urlsOf(program);
    expect(await program.leftovers()).toEqual([]);
  });

  test('reports an unusable Redis in one line', async () => {
    await using program = await demo({ REDIS_URL: 'redis://:hush@127.0.0.1:1' });
    const { code, output } = await program.waitForExit();
    expect(code).toBe(1);
    // Lines from stdout and stderr may arrive in any order.
    expect(output.split('\n')).toContain("Redis can't be used: ECONNREFUSED. Check REDIS_URL.");
    expect(output).not.toContain('hush');
  });
});
