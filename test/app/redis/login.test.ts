import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import { ConfigError } from '../../../src/config/env.ts';
import { startPrivateRedis } from '../../../src/redis/private-redis.ts';
import { changeLogin, tryLogin, type RedisLogin } from '../../../src/redis/login.ts';
import { redisReady } from '../../../src/redis/client.ts';
import { eventually } from '../../support/eventually.ts';
import { useFixture } from '../../support/fixtures.ts';
import { createClient, openRedis, openSessionReader } from '../../support/redis/clients.ts';

/** Resolves once commands succeed on a new connection. */
async function untilServed(client: Redis): Promise<void> {
  await eventually(async () => client.ping().then(Boolean, () => false));
}

describe('changing the login', () => {
  const SECONDS = 1_000;
  /** The secrets contain multi-byte characters and characters that must be percent-encoded in a URL. */
  const SECRETS = { one: 'pass:word/@1', two: 'wörter ✓' };

  const server = useFixture(startPrivateRedis);
  /** The test's own connection, as the default user. */
  const redis = useFixture(async () => openRedis(server.url));
  beforeEach(async () => {
    for (const [user, secret] of Object.entries(SECRETS))
      await redis.call('ACL', 'SETUSER', user, 'reset', 'on', `>${secret}`, '~*', '&*', '+@all');
  });
  // Redis notices a closed connection slightly later than the client does.
  afterEach(async () => eventually(async () => (await connections()).length === 0));

  const login = (user: keyof typeof SECRETS) => ({ username: user, password: SECRETS[user] });
  const urlOf = (user: keyof typeof SECRETS) =>
    server.url.replace('://', `://${user}:${encodeURIComponent(SECRETS[user])}@`);

  /** Returns all connections except the test's own, oldest first. */
  async function connections(): Promise<{ id: number; user: string }[]> {
    const found = String(await redis.client('LIST')).matchAll(/^id=(\d+) .*\buser=(\w+)/gm);
    return [...found]
      .map(([, id, user = '']) => ({ id: Number(id), user }))
      .filter(({ user }) => user !== 'default')
      .toSorted((one, other) => one.id - other.id);
  }
  const killAll = async () => {
    for (const { id } of await connections()) await redis.call('CLIENT', 'KILL', 'ID', id);
  };

  test('keeps the connection, which switches to the new user, so the previous user can be deleted', async () => {
    await using own = await openSessionReader(urlOf('one'), SECONDS);
    const before = await connections();
    await redis.set('key', 'value');
    const reads = Array.from({ length: 20 }, async () => own.read('key'));
    await changeLogin(own.client, login('two'));
    expect(new Set(await Promise.all(reads))).toEqual(new Set(['value']));
    expect(await own.read('key')).toBe('value'); // sent after AUTH
    expect(await connections()).toEqual(before.map(({ id }) => ({ id, user: 'two' })));

    await redis.call('ACL', 'DELUSER', 'one');
    expect(await own.read('key')).toBe('value');
    expect(await connections()).toHaveLength(1);
  });

  test('has no effect if Redis refuses the new password', async () => {
    await using own = await openSessionReader(urlOf('one'), SECONDS);
    const before = await connections();
    const refused = changeLogin(own.client, { username: 'one', password: 'another' });
    await expect(refused).rejects.toThrow(
      new ConfigError(['REDIS_URL has a user or password that Redis refuses']),
    );
    expect(await own.read('none')).toBeNull();
    expect(await connections()).toEqual(before);
    await killAll();
    await expect(untilServed(own.client)).resolves.toBeUndefined();
  });

  test('lets a client connect after Redis has refused its old password', async () => {
    await redis.call('ACL', 'SETUSER', 'one', 'resetpass', '>another');
    await using client = createClient(urlOf('one'));
    await expect(redisReady(client)).rejects.toThrow("Redis can't be used");
    await changeLogin(client, { username: 'one', password: 'another' });
    await eventually(async () => client.status === 'ready');
    expect(await client.ping()).toBe('PONG');
  });

  test('without a user name uses the password for the default user', async () => {
    await using secret = await startPrivateRedis(['requirepass one']);
    await using own = await openSessionReader(secret.url.replace('://', '://:one@'), SECONDS);
    await using admin = await openRedis(secret.url.replace('://', '://:one@'));
    await admin.call('ACL', 'SETUSER', 'default', '>two');
    await changeLogin(own.client, { password: 'two' });
    await admin.call('ACL', 'SETUSER', 'default', '<one');
    await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await expect(untilServed(own.client)).resolves.toBeUndefined();
  });
});

describe('a trial login', () => {
  const PREFIX = 'cloakroom:';
  const REFUSED = 'REDIS_URL has a user or password that Redis refuses';
  const NO_RIGHT = 'REDIS_URL has a user without a permission that Cloakroom needs';
  const RIGHTS: Readonly<Record<string, readonly string[]>> = {
    sound: ['~cloakroom:*', '+@all'],
    unreading: ['~cloakroom:*', '+@all', '-getex'],
    elsewhere: ['~another:*', '+@all'],
    unselecting: ['~cloakroom:*', '+@all', '-select'],
    modest: ['~cloakroom:*', '-@all', '+getex', '+select'],
  };

  const server = useFixture(async () => startPrivateRedis(['requirepass secret']));
  /** A client that uses a separate database. */
  const client = useFixture(async () => openRedis(`${server.url.replace('://', '://:secret@')}?db=1`));

  beforeAll(async () => {
    for (const [user, rights] of Object.entries(RIGHTS))
      await client.call('ACL', 'SETUSER', user, 'on', '>one', ...rights);
  });

  test.each<[what: string, login: RedisLogin, problem: string]>([
    ['no password', {}, 'REDIS_URL has no password, but Redis requires one'],
    ['a wrong password', { password: 'another' }, REFUSED],
    ['an unknown user', { username: 'unknown', password: 'one' }, REFUSED],
    ['a user without permission to read', { username: 'unreading', password: 'one' }, NO_RIGHT],
    ['a user with access only to other keys', { username: 'elsewhere', password: 'one' }, NO_RIGHT],
    ['a user without access to this database', { username: 'unselecting', password: 'one' }, NO_RIGHT],
  ])('with %s is refused', async (_what, login, problem) => {
    await expect(tryLogin(client, login, PREFIX)).rejects.toThrow(new ConfigError([problem]));
  });

  test.each<RedisLogin>([
    { password: 'secret' },
    { username: 'sound', password: 'one' },
    { username: 'modest', password: 'one' },
  ])('with %p succeeds and closes its connection', async (login) => {
    const connected = async () => String(await client.client('LIST')).match(/^id=\d+/gm);
    const before = await connected();
    await tryLogin(client, login, PREFIX);
    expect(await connected()).toEqual(before);
    expect(await client.ping()).toBe('PONG');
  });

  test('succeeds if Redis terminates in the meantime', async () => {
    await using killed = await startPrivateRedis();
    await using lost = await openRedis(killed.url);
    process.kill(killed.pid, 'SIGSTOP'); // Redis still accepts connections but does not reply
    const trial = tryLogin(lost, { password: 'another' }, PREFIX);
    process.kill(killed.pid, 'SIGKILL');
    await expect(trial).resolves.toBeUndefined();
  });

  test('succeeds without a connection to Redis', async () => {
    await using unconnected = createClient(server.url); // never becomes ready without the password
    await expect(tryLogin(unconnected, { password: 'another' }, PREFIX)).resolves.toBeUndefined();
    expect(unconnected.status).not.toBe('ready');
  });
});
