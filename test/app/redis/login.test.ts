import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { ConfigError } from '../../../src/config/env.ts';
import { createLog } from '../../../src/observability/logger.ts';
import { startPrivateRedis } from '../../../src/redis/private-redis.ts';
import { changeLogin, tryLogin, type RedisLogin } from '../../../src/redis/login.ts';
import { parseRedisUrl } from '../../../src/config/redis-url.ts';
import { closeRedis, createRedis, redisReady, type RedisClient } from '../../../src/redis/client.ts';
import { eventually } from '../../support/eventually.ts';
import { useFixture } from '../../support/fixtures.ts';
import { startSessionReader } from '../../support/redis/session-reader.ts';

/** Resolves once commands succeed over a new connection. */
async function untilServed(client: Redis): Promise<void> {
  await eventually(async () => client.ping().then(Boolean, () => false));
}

describe('changing the login', () => {
  const SECONDS = 1_000;
  /** Of more bytes than characters, and with what a URL must encode. */
  const SECRETS = { one: 'pass:word/@1', two: 'wörter ✓' };

  const server = useFixture(startPrivateRedis);
  /** The test's own connection, as the default user. */
  let redis: Redis;

  beforeAll(async () => {
    redis = new Redis({ path: server.url.slice('redis+unix://'.length) });
  });
  afterAll(async () => redis.quit());
  beforeEach(async () => {
    for (const [user, secret] of Object.entries(SECRETS))
      await redis.call('ACL', 'SETUSER', user, 'reset', 'on', `>${secret}`, '~*', '&*', '+@all');
  });
  // Redis notices the end of a connection a little later than its client.
  afterEach(async () => eventually(async () => (await connections()).length === 0));

  const login = (user: keyof typeof SECRETS) => ({ username: user, password: SECRETS[user] });
  const urlOf = (user: keyof typeof SECRETS) =>
    server.url.replace('://', `://${user}:${encodeURIComponent(SECRETS[user])}@`);

  interface Connection {
    readonly id: string;
    readonly user: string;
  }

  /** All but the test's own, the oldest first. */
  async function connections(): Promise<Connection[]> {
    const lines = String(await redis.client('LIST')).split('\n');
    const found = lines.flatMap((line) => {
      const { id, user } = /\bid=(?<id>\d+) .*\buser=(?<user>\w+)/.exec(line)?.groups ?? {};
      return id === undefined || user === undefined || user === 'default' ? [] : [{ id, user }];
    });
    return found.toSorted((one, other) => Number(one.id) - Number(other.id));
  }

  test('the connection signs in as another user and stays, and the earlier user can be deleted', async () => {
    await using own = await startSessionReader(urlOf('one'), SECONDS);
    const before = await connections();
    await redis.set('key', 'value');
    const reads = Array.from({ length: 20 }, async () => own.read('key'));
    await changeLogin(own.client, login('two'));
    expect(new Set(await Promise.all(reads))).toEqual(new Set(['value']));
    expect(await own.read('key')).toBe('value'); // behind AUTH
    expect(await connections()).toEqual(before.map(({ id }) => ({ id, user: 'two' })));

    await redis.call('ACL', 'DELUSER', 'one');
    expect(await own.read('key')).toBe('value');
    expect(await connections()).toHaveLength(1);
  });

  test('new connections use the new password', async () => {
    await using own = await startSessionReader(urlOf('one'), SECONDS);
    await redis.call('ACL', 'SETUSER', 'one', '>another');
    await changeLogin(own.client, { username: 'one', password: 'another' });
    await redis.call('ACL', 'SETUSER', 'one', `<${SECRETS.one}`);
    for (const { id } of await connections()) await redis.call('CLIENT', 'KILL', 'ID', id);
    await expect(untilServed(own.client)).resolves.toBeUndefined();
  });

  test('where Redis refuses the new password nothing changes', async () => {
    await using own = await startSessionReader(urlOf('one'), SECONDS);
    const before = await connections();
    const refused = changeLogin(own.client, { username: 'one', password: 'another' });
    await expect(refused).rejects.toThrow(
      new ConfigError(['REDIS_URL has a user or password that Redis refuses']),
    );
    expect(await own.read('none')).toBeNull();
    expect(await connections()).toEqual(before);
    for (const { id } of before) await redis.call('CLIENT', 'KILL', 'ID', id);
    await expect(untilServed(own.client)).resolves.toBeUndefined();
  });

  test('a client that was refused with the old password connects with the new one', async () => {
    await redis.call('ACL', 'SETUSER', 'one', 'resetpass', '>another');
    const client = createRedis(parseRedisUrl(urlOf('one')), createLog('silent'));
    await expect(redisReady(client)).rejects.toThrow("Redis can't be used");
    await changeLogin(client, { username: 'one', password: 'another' });
    await eventually(async () => client.status === 'ready');
    expect(await client.ping()).toBe('PONG');
    await closeRedis(client);
  });

  test('without a user name the password is that of the default user', async () => {
    await using secret = await startPrivateRedis(['requirepass one']);
    await using own = await startSessionReader(secret.url.replace('://', '://:one@'), SECONDS);
    const admin = new Redis({ path: secret.url.slice('redis+unix://'.length), password: 'one' });
    await admin.call('ACL', 'SETUSER', 'default', '>two');
    await changeLogin(own.client, { password: 'two' });
    await admin.call('ACL', 'SETUSER', 'default', '<one');
    await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await expect(untilServed(own.client)).resolves.toBeUndefined();
    await admin.quit();
  });
});

describe('trying a login', () => {
  const PREFIX = 'cloakroom:';
  const REFUSED = 'REDIS_URL has a user or password that Redis refuses';
  const NO_RIGHT = 'REDIS_URL has a user who may not do at Redis what Cloakroom does';
  const RIGHTS: Readonly<Record<string, readonly string[]>> = {
    sound: ['~cloakroom:*', '+@all'],
    unreading: ['~cloakroom:*', '+@all', '-getex'],
    elsewhere: ['~another:*', '+@all'],
    unselecting: ['~cloakroom:*', '+@all', '-select'],
    modest: ['~cloakroom:*', '-@all', '+getex', '+select'],
  };

  const server = useFixture(async () => startPrivateRedis(['requirepass secret']));
  let admin: Redis;
  /** In a database of its own. */
  let client: RedisClient;

  beforeAll(async () => {
    admin = new Redis({ path: server.url.slice('redis+unix://'.length), password: 'secret' });
    for (const [user, rights] of Object.entries(RIGHTS))
      await admin.call('ACL', 'SETUSER', user, 'on', '>one', ...rights);
    client = createRedis(
      parseRedisUrl(`${server.url.replace('://', '://:secret@')}?db=1`),
      createLog('silent'),
    );
    await redisReady(client);
  });
  afterAll(async () => {
    await closeRedis(client);
    await admin.quit();
  });

  test.each<[what: string, login: RedisLogin, problem: string]>([
    ['no password', {}, 'REDIS_URL has no password, and Redis requires one'],
    ['a wrong password', { password: 'another' }, REFUSED],
    ['an unknown user', { username: 'nobody', password: 'one' }, REFUSED],
    ['a user who may not read', { username: 'unreading', password: 'one' }, NO_RIGHT],
    ['a user of other keys', { username: 'elsewhere', password: 'one' }, NO_RIGHT],
    ['a user who may not use this database', { username: 'unselecting', password: 'one' }, NO_RIGHT],
  ])('%s is refused', async (_what, login, problem) => {
    await expect(tryLogin(client, login, PREFIX)).rejects.toThrow(new ConfigError([problem]));
  });

  test.each<RedisLogin>([
    { password: 'secret' },
    { username: 'sound', password: 'one' },
    { username: 'modest', password: 'one' },
  ])('with %p the trial succeeds, and leaves nothing', async (login) => {
    const connected = async () => String(await admin.client('LIST')).match(/^id=\d+/gm);
    const before = await connected();
    await tryLogin(client, login, PREFIX);
    expect(await connected()).toEqual(before);
    expect(await client.ping()).toBe('PONG');
  });

  test('a trial succeeds where Redis ends meanwhile', async () => {
    await using going = await startPrivateRedis();
    const left = createRedis(parseRedisUrl(going.url), createLog('silent'));
    await redisReady(left);
    process.kill(going.pid, 'SIGSTOP'); // it accepts the connection, and does not reply
    const trial = tryLogin(left, { password: 'another' }, PREFIX);
    process.kill(going.pid, 'SIGKILL');
    await expect(trial).resolves.toBeUndefined();
    left.disconnect();
  });

  test('a client without a connection to Redis tries no login', async () => {
    const out = createRedis(parseRedisUrl(server.url), createLog('silent')); // without the password it never becomes ready
    out.on('ready', () => {
      throw new Error('connected without a password');
    });
    await expect(tryLogin(out, { password: 'another' }, PREFIX)).resolves.toBeUndefined();
    out.disconnect();
  });
});
