import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { startPrivateRedis, type PrivateRedis } from '../../../../src/redis/private-redis.ts';
import { eventually } from '../../../support/eventually.ts';
import { startProgram } from '../../../support/programs.ts';

type Env = Readonly<Record<string, string>>;

/** Creates a folder for secrets, with an `update` method that runs secrets-volume.js on the folder. */
async function createFolder() {
  const folder = await mkdtemp(join(tmpdir(), 'cloakroom-secrets-'));
  return {
    path: (name: string) => join(folder, name),
    read: async (name: string) => (await readFile(join(folder, name), 'utf8')).trim(),
    names: async () => (await readdir(folder)).toSorted(),
    async update(env: Env = {}) {
      const args = ['dist/cli/compose/secrets-volume.js', folder];
      await using program = await startProgram(process.execPath, args, env);
      return await program.waitForExit();
    },
    [Symbol.asyncDispose]: async () => rm(folder, { recursive: true }),
  };
}

const newKey = () => randomBytes(32).toString('base64url');

test('missing secrets are created, and only their owner can read them', async () => {
  await using folder = await createFolder();
  expect(await folder.update()).toEqual({ code: 0, output: '' });
  const secrets = ['client-secret', 'local-service-redis-url', 'redis-url', 'session-keys'];
  expect(await folder.names()).toEqual([...secrets, 'users.acl']);
  expect(await folder.read('session-keys')).toMatch(/^[\w-]{43}$/);
  for (const [name, user] of [
    ['redis-url', 'cloakroom'],
    ['local-service-redis-url', 'local-service'],
  ] as const)
    expect(await folder.read(name)).toMatch(new RegExp(`^redis://${user}:[\\w-]{43}@redis:6379$`));
  for (const name of secrets) expect((await stat(folder.path(name))).mode & 0o777).toBe(0o400);
});

test('a secret in the folder is kept until a new value is provided', async () => {
  await using folder = await createFolder();
  await folder.update();
  const before = { keys: await folder.read('session-keys'), redis: await folder.read('redis-url') };
  await folder.update();
  expect(await folder.read('session-keys')).toBe(before.keys);
  const keys = `${newKey()},${before.keys}`;
  await folder.update({ SESSION_KEYS: keys });
  expect(await folder.read('session-keys')).toBe(keys);
  expect(await folder.read('redis-url')).toBe(before.redis);
});

test('a missing password is regenerated, and the other password is kept', async () => {
  await using folder = await createFolder();
  await folder.update();
  const app = await folder.read('redis-url');
  const localService = await folder.read('local-service-redis-url');
  for (const name of ['redis-url', 'users.acl']) await rm(folder.path(name));
  await folder.update();
  expect(await folder.read('redis-url')).not.toBe(app);
  expect(await folder.read('local-service-redis-url')).toBe(localService);
  await using redis = await startPrivateRedis([`aclfile ${folder.path('users.acl')}`]);
  for (const name of ['redis-url', 'local-service-redis-url']) {
    using client = connect(redis, await folder.read(name));
    expect(await client.ping()).toBe('PONG');
  }
});

test('secrets can come from files', async () => {
  await using folder = await createFolder();
  await using given = await createFolder();
  const key = newKey();
  await writeFile(given.path('keys'), `${key}\n`);
  await writeFile(given.path('client'), 'a-client-secret\n');
  const env = { SESSION_KEYS_FILE: given.path('keys'), CLIENT_SECRET_FILE: given.path('client') };
  expect((await folder.update({ CLIENT_ID: 'an-app', ...env })).code).toBe(0);
  expect(await folder.read('session-keys')).toBe(key);
  expect(await folder.read('client-secret')).toBe('a-client-secret');
});

test('an app with its own CLIENT_ID does not get the demo’s client secret', async () => {
  await using folder = await createFolder();
  const output = 'CLIENT_SECRET is required if CLIENT_ID is set\n';
  expect(await folder.update({ CLIENT_ID: 'an-app' })).toEqual({ code: 1, output });
  expect(await folder.names()).toEqual([]);
});

test('all problems are reported together, without the value of any secret', async () => {
  await using folder = await createFolder();
  const app = { CLIENT_ID: 'an-app', CLIENT_SECRET: 'a', CLIENT_SECRET_FILE: '/nowhere' };
  const { code, output } = await folder.update({ ...app, SESSION_KEYS: 'too-short' });
  expect(code).toBe(1);
  expect(output.split('\n')).toEqual([
    'CLIENT_SECRET and CLIENT_SECRET_FILE are both set: set only one',
    'SESSION_KEYS has a key (number 1) that is not 32 bytes in base64url: create one with npm run -s keygen',
    '',
  ]);
  expect(await folder.names()).toEqual([]);
});

test('a secret is replaced atomically, so a reader finds either the old or the new value', async () => {
  await using folder = await createFolder();
  await folder.update();
  const before = await stat(folder.path('session-keys'));
  await folder.update({ SESSION_KEYS: newKey() });
  expect((await stat(folder.path('session-keys'))).ino).not.toBe(before.ino); // a new file under the old name
});

test('the ACL file lets the app use all keys, the local service use its own keys, and other users run only PING', async () => {
  await using folder = await createFolder();
  await folder.update();
  await using redis = await startPrivateRedis([`aclfile ${folder.path('users.acl')}`]);

  using app = connect(redis, await folder.read('redis-url'));
  expect(await app.set('a', 'b', 'EX', 60)).toBe('OK');
  expect(await app.eval('return redis.call("GETEX", KEYS[1], "EX", 60)', 1, 'a')).toBe('b');
  expect(await app.info('memory')).toContain('maxmemory_policy');
  await expect(app.flushall()).rejects.toThrow('NOPERM');
  await expect(app.config('GET', '*')).rejects.toThrow('NOPERM');

  using localService = connect(redis, await folder.read('local-service-redis-url'));
  expect(await localService.set('local-service:a', 'b', 'EX', 60)).toBe('OK');
  await expect(localService.get('a')).rejects.toThrow('NOPERM');
  await expect(localService.set('a', 'b')).rejects.toThrow('NOPERM');
  await expect(localService.keys('*')).rejects.toThrow('NOPERM');

  using health = connect(redis, 'redis://health:none@redis');
  expect(await health.call('PING')).toBe('PONG');
  await expect(health.get('a')).rejects.toThrow('NOPERM');

  using anonymous = connect(redis, 'redis://redis');
  await expect(anonymous.get('a')).rejects.toThrow('NOAUTH');
});

// Redis replays its append-only file as the `default` user and drops commands for which that user lacks permission.
test('with the ACL file, Redis reloads all its saved data', async () => {
  await using folder = await createFolder();
  await using data = await createFolder();
  await folder.update();
  const url = await folder.read('redis-url');
  const settings = [`aclfile ${folder.path('users.acl')}`, 'appendonly yes', `dir ${data.path('')}`];
  {
    await using redis = await startPrivateRedis(settings);
    using app = connect(redis, url);
    await app.multi().set('a', '1').set('b', '2').exec();
  }
  await using again = await startPrivateRedis(settings);
  using app = connect(again, url);
  await eventually(async () => !(await app.ping().catch(String)).includes('LOADING'));
  expect(await app.mget('a', 'b')).toEqual(['1', '2']);
});

/** Connects to a private Redis with the credentials in a URL. Disposing of the client closes the connection. */
function connect(redis: PrivateRedis, login: string): Redis & Disposable {
  const { username, password } = new URL(login);
  const path = redis.url.replace('redis+unix://', '');
  const options = username === '' ? { path } : { path, username, password };
  const client = new Redis({ ...options, enableReadyCheck: false }).on('error', () => {});
  return Object.assign(client, { [Symbol.dispose]: () => client.disconnect() });
}
