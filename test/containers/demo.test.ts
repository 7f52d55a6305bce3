import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { signInAt, startComposition } from '../support/containers/composition.ts';
import type { Composition } from '../support/containers/composition.ts';
import { docker, inspect } from '../support/containers/docker.ts';
import { eventually } from '../support/eventually.ts';

const SERVICES = ['app', 'redis', 'local-service', 'local-service-in-app', 'secrets'];
const LASTING = SERVICES.filter((service) => service !== 'secrets');

interface HostConfig {
  readonly ReadonlyRootfs: boolean;
  readonly CapDrop: readonly string[];
  readonly SecurityOpt: readonly string[];
  readonly Memory: number;
  readonly PidsLimit: number;
  readonly RestartPolicy: { readonly Name: string };
  readonly LogConfig: { readonly Config: Readonly<Record<string, string>> };
}

interface Binding {
  readonly HostIp: string;
}

// On a fresh clone, without a .env.
describe('docker compose --profile demo up', () => {
  let testApp: Composition;
  beforeAll(async () => (testApp = await startComposition()));
  afterAll(async () => testApp[Symbol.asyncDispose]());

  test('gives a sign-in that works, as demo', async () => {
    const { browser, page } = await signInAt(testApp.url);
    expect(page).toMatchObject({ status: 200, url: new URL('/workspaces', testApp.url) });
    const call = await browser.fetch(`${testApp.url}/api/public/v1/workspaces?limit=2`);
    expect(JSON.parse(call.text)).toMatchObject({ value: [expect.anything(), expect.anything()] });
  });

  test('loses no session when Redis restarts', async () => {
    const { browser } = await signInAt(testApp.url);
    await docker(['restart', testApp.container('redis')]);
    // The local service has lost its Redis, too, and may need a moment more than the app.
    const statuses = new Set<number>();
    await eventually(async () => {
      const { status } = await browser.fetch(`${testApp.url}/workspaces`);
      statuses.add(status);
      return status === 200;
    }, 60_000);
    expect([...statuses].filter((status) => status < 500)).toEqual([200]); // signed out, it would be a redirect
  });

  test('keeps sessions and secrets when everything is taken down and up again', async () => {
    const { browser } = await signInAt(testApp.url);
    await testApp.compose(['down']);
    await testApp.compose(['up', '--detach', '--no-build', '--wait']);
    expect((await browser.fetch(`${testApp.url}/workspaces`)).status).toBe(200);
  });

  test('goes on when the app’s container has started again', async () => {
    const { browser } = await signInAt(testApp.url);
    await docker(['stop', testApp.container('app')]);
    await delay(1_500); // Docker starts what has ended again within less: while the app is away it can't, and gives up
    await docker(['start', testApp.container('app')]);
    // The local service is reached through the app's own network, of which it has a new one now.
    const list = async () => (await browser.fetch(`${testApp.url}/workspaces`)).status;
    await eventually(async () => (await list().catch(() => 0)) === 200, 60_000);
    expect(await list()).toBe(200);
  });

  test('publishes the app and the local service on this machine only, and Redis nowhere', async () => {
    const published = await Promise.all(
      SERVICES.map(async (service) => {
        const path = '.NetworkSettings.Ports';
        const ports = await inspect<Record<string, Binding[] | null>>(testApp.container(service), path);
        return Object.values(ports ?? {}).flatMap((bindings) =>
          (bindings ?? []).map(({ HostIp }) => `${service} ${HostIp}`),
        );
      }),
    );
    expect(published.flat()).toEqual(['app 127.0.0.1', 'local-service 127.0.0.1']);
  });

  test('takes rights, memory, processes and logs away from each container', async () => {
    for (const service of LASTING) {
      const host = await inspect<HostConfig>(testApp.container(service), '.HostConfig');
      expect({ service, ...host }).toMatchObject({
        service,
        ReadonlyRootfs: true,
        CapDrop: ['ALL'],
        SecurityOpt: ['no-new-privileges:true'],
        RestartPolicy: { Name: 'unless-stopped' },
        LogConfig: { Config: { 'max-size': '10m' } },
      });
      expect(host.Memory).toBeGreaterThan(0);
      expect(host.PidsLimit).toBeGreaterThan(0);
    }
  });

  test('shows no secret to who inspects or reads logs', async () => {
    await signInAt(testApp.url);
    const secrets = await readSecrets(testApp);
    expect(secrets.map(({ length }) => length)).toEqual([43, 43]);
    const seen = [
      await testApp.compose(['logs']),
      await docker(['inspect', ...SERVICES.map((service) => testApp.container(service))]),
    ].join('\n');
    expect(seen).toContain('cloakroom');
    for (const secret of secrets) expect(seen).not.toContain(secret);
  });

  test('gives Redis no password but that of its own, and lets nobody in without one', async () => {
    const asStranger = async (...args: string[]) =>
      testApp.compose(['exec', '-T', 'redis', 'redis-cli', ...args]);
    const asHealth = async (...args: string[]) => asStranger('--user', 'health', '--pass', 'none', ...args);
    expect(await asStranger('ping')).toMatch(/^NOAUTH/);
    expect(await asHealth('ping')).toBe('PONG');
    expect(await asHealth('keys', '*')).toMatch(/^NOPERM/);
    await expect(testApp.compose(['exec', '-T', 'redis', 'cat', '/secrets/session-keys'])).rejects.toThrow(
      'Permission denied',
    );
  });

  test('keeps the app’s secrets and keys from the local service', async () => {
    const inService = async (...command: string[]) =>
      testApp.compose(['exec', '-T', 'local-service', ...command]);
    const names = (await inService('ls', '/secrets')).split('\n');
    expect(names).toEqual(expect.arrayContaining(['client-secret', 'redis-url', 'session-keys']));
    const readable = await Promise.all(
      names.map(async (name) =>
        inService('cat', `/secrets/${name}`).then(
          () => [name],
          (error: unknown) => (String(error).includes('Permission denied') ? [] : [String(error)]),
        ),
      ),
    );
    // The former is its own; of the latter Redis takes the hashes of passwords.
    expect(readable.flat()).toEqual(['local-service-redis-url', 'users.acl']);
    const ask = `
      import { readFileSync } from 'node:fs';
      import { Redis } from 'ioredis';
      const redis = new Redis(readFileSync('/secrets/local-service-redis-url', 'utf8').trim());
      console.log(await redis.get('cloakroom:session:a').catch(({ message }) => message));
      redis.disconnect();`;
    expect(await inService('node', '--input-type=module', '--eval', ask)).toMatch(/^NOPERM/);
  });

  test('tells Redis to keep what it has, on the disk and in memory', async () => {
    const info = await redisInfo(testApp);
    expect(info).toMatchObject({ aof_enabled: '1', maxmemory_policy: 'noeviction' });
    expect(Number(info['maxmemory'])).toBeGreaterThan(0);
  });

  test('changes session keys while it runs, and signs nobody out who comes in between', async () => {
    const { browser } = await signInAt(testApp.url);
    const [before = ''] = await readSecrets(testApp);
    const next = randomBytes(32).toString('base64url');
    for (const [at, keys] of [`${before},${next}`, `${next},${before}`, next].entries()) {
      await testApp.compose(['run', '--rm', '--env', `SESSION_KEYS=${keys}`, 'secrets']);
      await testApp.compose(['kill', '--signal', 'HUP', 'app']);
      const reloads = async () =>
        (await testApp.compose(['logs', 'app'])).split('"changed":["SESSION_KEYS"]').length;
      await eventually(async () => (await reloads()) === at + 2, 60_000);
      expect((await browser.fetch(`${testApp.url}/workspaces`)).status).toBe(200);
    }
    expect(await readSecrets(testApp)).toContain(next);
  });

  test('ends the app in time on SIGTERM, with exit code 0', async () => {
    await testApp.compose(['stop', 'app']);
    const state = await inspect<{ ExitCode: number; OOMKilled: boolean }>(testApp.container('app'), '.State');
    expect(state).toMatchObject({ ExitCode: 0, OOMKilled: false });
    await testApp.compose(['up', '--detach', '--no-build', '--wait']);
  });
});

/** The session key and Redis's password, which nobody but the app can read. */
async function readSecrets(testApp: Composition): Promise<string[]> {
  const read = async (name: string) => testApp.compose(['exec', '-T', 'app', 'cat', `/secrets/${name}`]);
  return [await read('session-keys'), new URL(await read('redis-url')).password];
}

async function redisInfo(testApp: Composition): Promise<Record<string, string | undefined>> {
  const ask = `
    import { readFileSync } from 'node:fs';
    import { Redis } from 'ioredis';
    const redis = new Redis(readFileSync('/secrets/redis-url', 'utf8').trim());
    console.log(await redis.info());
    await redis.quit();`;
  const said = await testApp.compose(['exec', '-T', 'app', 'node', '--input-type=module', '--eval', ask]);
  return Object.fromEntries(said.split(/\r?\n/).map((line) => line.split(':', 2) as [string, string]));
}
