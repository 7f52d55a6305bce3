import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { signInAt, startComposition } from '../support/containers/composition.ts';
import { APP_PROCESS, docker, inspect } from '../support/containers/docker.ts';
import { eventually } from '../support/eventually.ts';
import { useFixture } from '../support/fixtures.ts';

const SERVICES = ['app', 'redis', 'local-service', 'local-service-in-app', 'secrets'];

interface HostConfig {
  readonly ReadonlyRootfs: boolean;
  readonly CapDrop: readonly string[];
  readonly SecurityOpt: readonly string[];
  readonly Memory: number;
  readonly PidsLimit: number;
  readonly RestartPolicy: { readonly Name: string };
  readonly LogConfig: { readonly Config: Readonly<Record<string, string>> };
}

const testApp = useFixture(async () => startComposition());

// Tests a fresh clone without a .env file.
describe('docker compose --profile demo up', () => {
  test('lets the demo account sign in', async () => {
    const { browser, page } = await signInAt(testApp.url);
    expect(page).toMatchObject({ status: 200, url: new URL('/workspaces', testApp.url) });
    const response = await browser.fetch(`${testApp.url}/api/public/v1/workspaces?limit=2`);
    expect(JSON.parse(response.text)).toMatchObject({ value: [expect.anything(), expect.anything()] });
  });

  test('loses no session when Redis restarts', async () => {
    const { browser } = await signInAt(testApp.url);
    await docker(['restart', testApp.container('redis')]);
    // The local service also loses its Redis connection and may take longer to recover than the app.
    const statuses = new Set<number>();
    await eventually(async () => {
      const { status } = await browser.fetch(`${testApp.url}/workspaces`);
      statuses.add(status);
      return status === 200;
    }, 60_000);
    expect([...statuses].filter((status) => status < 500)).toEqual([200]); // without a session, the app would redirect
  });

  test('keeps sessions and secrets across compose down and up', async () => {
    const { browser } = await signInAt(testApp.url);
    await testApp.compose(['down']);
    await testApp.compose(['up', '--detach', '--no-build', '--wait']);
    expect((await browser.fetch(`${testApp.url}/workspaces`)).status).toBe(200);
  });

  test('serves sessions again once the app container has restarted', async () => {
    const { browser } = await signInAt(testApp.url);
    await docker(['stop', testApp.container('app')]);
    // During this delay, Docker fails to restart the relay, because the app's network is down.
    await delay(1_500);
    await docker(['start', testApp.container('app')]);
    // The relay to the local service has to join the app's new network.
    const list = async () => (await browser.fetch(`${testApp.url}/workspaces`)).status;
    await eventually(async () => (await list().catch(() => 0)) === 200, 60_000);
    expect(await list()).toBe(200);
  });

  test('publishes the app and the local service only on this machine, and does not publish Redis', async () => {
    const published = await Promise.all(
      SERVICES.map(async (service) => {
        type Ports = Record<string, { readonly HostIp: string }[] | null> | null;
        const ports = await inspect<Ports>(testApp.container(service), '.NetworkSettings.Ports');
        const bindings = Object.values(ports ?? {}).flatMap((each) => each ?? []);
        return bindings.map(({ HostIp }) => `${service} ${HostIp}`);
      }),
    );
    expect(published.flat()).toEqual(['app 127.0.0.1', 'local-service 127.0.0.1']);
  });

  test('limits the privileges, memory, processes and logs of each container', async () => {
    for (const service of SERVICES.filter((each) => each !== 'secrets')) {
      const host = await inspect<HostConfig>(testApp.container(service), '.HostConfig');
      expect({ service, ...host }).toMatchObject({
        service,
        ReadonlyRootfs: true,
        CapDrop: ['ALL'],
        SecurityOpt: ['no-new-privileges:true'],
        RestartPolicy: { Name: 'always' },
        LogConfig: { Config: { 'max-size': '10m' } },
      });
      expect(host.Memory).toBeGreaterThan(0);
      expect(host.PidsLimit).toBeGreaterThan(0);
    }
  });

  test('shows no secrets in docker inspect or in logs', async () => {
    await signInAt(testApp.url);
    const secrets = await readSecrets();
    expect(secrets.map(({ length }) => length)).toEqual([43, 43]);
    const logs = await testApp.compose(['logs']);
    const inspected = await docker(['inspect', ...SERVICES.map((service) => testApp.container(service))]);
    expect(logs).toContain('session started');
    expect(inspected).toContain('cloakroom');
    for (const secret of secrets) expect(logs + inspected).not.toContain(secret);
  });

  test('gives Redis no access to the app’s secrets, and requires Redis clients to authenticate', async () => {
    const redisCli = async (...args: string[]) => execIn('redis', 'redis-cli', ...args);
    const asHealth = ['--user', 'health', '--pass', 'none'];
    expect(await redisCli('ping')).toMatch(/^NOAUTH/);
    expect(await redisCli(...asHealth, 'ping')).toBe('PONG');
    expect(await redisCli(...asHealth, 'keys', '*')).toMatch(/^NOPERM/);
    await expect(execIn('redis', 'cat', '/secrets/session-keys')).rejects.toThrow('Permission denied');
  });

  test('gives the local service no access to the app’s secrets and keys', async () => {
    const names = (await execIn('local-service', 'ls', '/secrets')).split('\n');
    expect(names).toEqual(expect.arrayContaining(['client-secret', 'redis-url', 'session-keys']));
    const readable = await Promise.all(
      names.map(async (name) =>
        execIn('local-service', 'cat', `/secrets/${name}`).then(
          () => [name],
          (error: unknown) => (String(error).includes('Permission denied') ? [] : [String(error)]),
        ),
      ),
    );
    // The local service needs its own Redis URL, and the ACL file contains only password hashes.
    expect(readable.flat()).toEqual(['local-service-redis-url', 'users.acl']);
    const reply = await redisReply('local-service', 'local-service-redis-url', `get('cloakroom:session:a')`);
    expect(reply).toMatch(/^NOPERM/);
  });

  test('runs Redis with an append-only file and without eviction', async () => {
    const info = await redisReply('app', 'redis-url', 'info()');
    expect(info).toMatch(/^aof_enabled:1\r?$/m);
    expect(info).toMatch(/^maxmemory_policy:noeviction\r?$/m);
    expect(info).toMatch(/^maxmemory:[1-9]\d*\r?$/m);
  });

  test('reloads session keys at runtime and keeps the sessions', async () => {
    const { browser } = await signInAt(testApp.url);
    const [before = ''] = await readSecrets();
    const next = randomBytes(32).toString('base64url');
    for (const [at, keys] of [`${before},${next}`, `${next},${before}`, next].entries()) {
      await testApp.compose(['run', '--rm', '--env', `SESSION_KEYS=${keys}`, 'secrets']);
      await testApp.compose(['kill', '--signal', 'HUP', 'app']);
      const reloads = async () =>
        (await testApp.compose(['logs', 'app'])).split('"changed":["SESSION_KEYS"]').length;
      await eventually(async () => (await reloads()) === at + 2, 60_000);
      expect((await browser.fetch(`${testApp.url}/workspaces`)).status).toBe(200);
    }
    expect(await readSecrets()).toContain(next);
  });

  test('stops the app on SIGTERM with exit code 0', async () => {
    await testApp.compose(['stop', 'app']);
    const state = await inspect<{ ExitCode: number; OOMKilled: boolean }>(testApp.container('app'), '.State');
    expect(state).toMatchObject({ ExitCode: 0, OOMKilled: false });
    await testApp.compose(['up', '--detach', '--no-build', '--wait']);
  });

  // With the policy `unless-stopped`, Docker treats the container as stopped by hand after `docker kill`, whatever the signal.
  test('restarts the app after a crash that follows a reload', async () => {
    const app = testApp.container('app');
    const before = await inspect<number>(app, '.RestartCount');
    await testApp.compose(['kill', '--signal', 'HUP', 'app']);
    // The container exits before the command can return.
    await execIn('app', 'node', '--eval', `process.kill(${APP_PROCESS}, 'SIGKILL')`).catch(() => {});
    await eventually(async () => (await inspect<number>(app, '.RestartCount')) > before, 60_000);
    const health = async () => inspect<string>(app, '.State.Health.Status');
    await eventually(async () => (await health()) === 'healthy', 60_000);
    expect(await health()).toBe('healthy');
    // Wait for the relay too, because it shares the app's network and therefore also restarts.
    const startedAt = async (name: string) => inspect<string>(testApp.container(name), '.State.StartedAt');
    await eventually(
      async () => (await startedAt('local-service-in-app')) > (await startedAt('app')),
      60_000,
    );
  });
});

async function execIn(service: string, ...command: string[]): Promise<string> {
  return testApp.compose(['exec', '-T', service, ...command]);
}

/** Resolves with the session key and the Redis password, which only the app can read. */
async function readSecrets(): Promise<string[]> {
  const read = async (name: string) => execIn('app', 'cat', `/secrets/${name}`);
  return [await read('session-keys'), new URL(await read('redis-url')).password];
}

/** Sends a Redis command from a container, using the URL in one of its secrets. Resolves with the reply or the error message. */
async function redisReply(service: string, secret: string, command: string): Promise<string> {
  const script = `
    import { readFileSync } from 'node:fs';
    import { Redis } from 'ioredis';
    const redis = new Redis(readFileSync('/secrets/${secret}', 'utf8').trim());
    console.log(await redis.${command}.catch(({ message }) => message));
    redis.disconnect();`;
  return execIn(service, 'node', '--input-type=module', '--eval', script);
}
