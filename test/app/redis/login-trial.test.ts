import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { ConfigError } from '../../../src/config/env.ts';
import { createLog } from '../../../src/observability/logger.ts';
import { startPrivateRedis } from '../../../src/redis/private-redis.ts';
import type { PrivateRedis } from '../../../src/redis/private-redis.ts';
import type { RedisLogin } from '../../../src/redis/login.ts';
import { tryLogin } from '../../../src/redis/login-trial.ts';
import { parseRedisUrl } from '../../../src/config/redis-url.ts';
import { closeRedis, createRedis, redisReady } from '../../../src/redis/client.ts';
import type { RedisClient } from '../../../src/redis/client.ts';

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

let server: PrivateRedis;
let admin: Redis;
/** In a database of its own. */
let client: RedisClient;

beforeAll(async () => {
  server = await startPrivateRedis(['requirepass secret']);
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
  await server[Symbol.asyncDispose]();
});

test.each<[what: string, login: RedisLogin, problem: string]>([
  ['no password', {}, 'REDIS_URL has no password, and Redis asks for one'],
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
])('with %p one can read, and nothing of the trial is left', async (login) => {
  const connected = async () => String(await admin.client('LIST')).match(/^id=\d+/gm);
  const before = await connected();
  await tryLogin(client, login, PREFIX);
  expect(await connected()).toEqual(before);
  expect(await client.ping()).toBe('PONG');
});

test('a Redis that goes meanwhile says nothing', async () => {
  await using going = await startPrivateRedis();
  const left = createRedis(parseRedisUrl(going.url), createLog('silent'));
  await redisReady(left);
  process.kill(going.pid, 'SIGSTOP'); // it takes the connection, and answers nothing
  const asked = tryLogin(left, { password: 'another' }, PREFIX);
  process.kill(going.pid, 'SIGKILL');
  await expect(asked).resolves.toBeUndefined();
  left.disconnect();
});

test('a Redis that we have no connection to is not asked', async () => {
  const out = createRedis(parseRedisUrl(server.url), createLog('silent')); // without the password it gets nowhere
  out.on('ready', () => {
    throw new Error('it is let in');
  });
  await expect(tryLogin(out, { password: 'another' }, PREFIX)).resolves.toBeUndefined();
  out.disconnect();
});
