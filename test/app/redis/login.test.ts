import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { ConfigError } from '../../../src/config/env.ts';
import { createLog } from '../../../src/observability/logger.ts';
import { startPrivateRedis } from '../../../src/redis/private-redis.ts';
import type { PrivateRedis } from '../../../src/redis/private-redis.ts';
import { changeLogin } from '../../../src/redis/login.ts';
import { parseRedisUrl } from '../../../src/config/redis-url.ts';
import { closeRedis, createRedis, redisReady } from '../../../src/redis/client.ts';
import { eventually } from '../../support/eventually.ts';
import { startGetex } from '../../support/redis/session-reader.ts';

const SECONDS = 1_000;
/** Of more bytes than characters, and with what a URL must encode. */
const SECRETS = { one: 'pass:word/@1', two: 'wörter ✓' };

let server: PrivateRedis;
/** The test's own connection, as the default user. */
let redis: Redis;

beforeAll(async () => {
  server = await startPrivateRedis();
  redis = new Redis({ path: server.url.slice('redis+unix://'.length) });
});
afterAll(async () => {
  await redis.quit();
  await server[Symbol.asyncDispose]();
});
beforeEach(async () => {
  for (const [user, secret] of Object.entries(SECRETS))
    await redis.call('ACL', 'SETUSER', user, 'reset', 'on', `>${secret}`, '~*', '&*', '+@all');
});
// Redis hears a little later than we that a connection has ended.
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

test('both connections sign in as another user and stay, and the one before can be deleted', async () => {
  await using own = await startGetex(urlOf('one'), SECONDS);
  await own.apart();
  const before = await connections();
  await redis.set('key', 'value');
  const reads = Array.from({ length: 20 }, async () => own.getex('key'));
  await changeLogin(own.client, login('two'));
  expect(new Set(await Promise.all(reads))).toEqual(new Set(['value']));
  expect(await own.getex('key')).toBe('value'); // behind AUTH
  expect(await connections()).toEqual(before.map(({ id }) => ({ id, user: 'two' })));

  await redis.call('ACL', 'DELUSER', 'one');
  const reader = own.throughClient();
  expect(await own.getex('key')).toBe('value');
  expect(own.throughClient()).toBe(reader);
  expect(await connections()).toHaveLength(2);
});

test('whatever connects again does so with the new password', async () => {
  await using own = await startGetex(urlOf('one'), SECONDS);
  await own.apart();
  await redis.call('ACL', 'SETUSER', 'one', '>another');
  await changeLogin(own.client, { username: 'one', password: 'another' });
  await redis.call('ACL', 'SETUSER', 'one', `<${SECRETS.one}`);
  for (const { id } of await connections()) await redis.call('CLIENT', 'KILL', 'ID', id);
  await own.apart();
  expect(await own.client.ping()).toBe('PONG');
});

test('where Redis refuses the new password nothing changes', async () => {
  await using own = await startGetex(urlOf('one'), SECONDS);
  await own.apart();
  const before = await connections();
  const refused = changeLogin(own.client, { username: 'one', password: 'another' });
  await expect(refused).rejects.toThrow(
    new ConfigError(['REDIS_URL has a user or password that Redis refuses']),
  );
  expect(await own.getex('none')).toBeNull();
  expect(await connections()).toEqual(before);
  for (const { id } of before) await redis.call('CLIENT', 'KILL', 'ID', id);
  await own.apart();
});

test('what is refused the old password comes back with the new one', async () => {
  await redis.call('ACL', 'SETUSER', 'one', 'resetpass', '>another');
  const client = createRedis(parseRedisUrl(urlOf('one')), createLog('silent'));
  await expect(redisReady(client)).rejects.toThrow("Redis can't be used");
  await changeLogin(client, { username: 'one', password: 'another' });
  await eventually(async () => client.status === 'ready');
  expect(await client.ping()).toBe('PONG');
  await closeRedis(client);
});

test('without a user it is the password of the default one', async () => {
  await using secret = await startPrivateRedis(['requirepass one']);
  await using own = await startGetex(secret.url.replace('://', '://:one@'), SECONDS);
  await own.apart();
  const admin = new Redis({ path: secret.url.slice('redis+unix://'.length), password: 'one' });
  await admin.call('ACL', 'SETUSER', 'default', '>two');
  await changeLogin(own.client, { password: 'two' });
  await admin.call('ACL', 'SETUSER', 'default', '<one');
  await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  await own.apart();
  expect(await own.client.ping()).toBe('PONG');
  await admin.quit();
});
