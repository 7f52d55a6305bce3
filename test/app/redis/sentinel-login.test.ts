import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { once } from 'node:events';
import { createLog } from '../../../src/observability/logger.ts';
import { changeLogin } from '../../../src/redis/login.ts';
import { tryLogin } from '../../../src/redis/login-trial.ts';
import { parseRedisUrl } from '../../../src/config/redis-url.ts';
import { closeRedis, createRedis, redisReady } from '../../../src/redis/client.ts';
import { PASSWORD } from '../../support/redis/redis-node.ts';
import { startSentinels } from '../../support/redis/sentinels.ts';
import type { SentinelTopology } from '../../support/redis/sentinels.ts';

let topology: SentinelTopology;

beforeAll(async () => {
  topology = await startSentinels();
});
afterAll(async () => topology[Symbol.asyncDispose]());

/** A connection as Cloakroom makes it. */
function connect(): Redis & AsyncDisposable {
  const client = createRedis(parseRedisUrl(topology.url), createLog('silent'));
  if (!(client instanceof Redis)) throw new Error('that is a cluster');
  return Object.assign(client, { [Symbol.asyncDispose]: async () => closeRedis(client) });
}

// Apart from those that make a master hang: Sentinels that were refused for a moment are in no hurry to replace one.

test('another login is tried at the master', async () => {
  await topology.settled();
  await using client = connect();
  await redisReady(client);
  const master = await topology.master();
  await master.ask('ACL', 'SETUSER', 'app', 'reset', 'on', '>one', '~*', '+@all', '-getex');
  const login = { username: 'app', password: 'one' };
  await expect(tryLogin(client, login, 'cloakroom:')).rejects.toThrow('REDIS_URL has a user who may not');
  await master.ask('ACL', 'SETUSER', 'app', '+getex');
  await expect(tryLogin(client, login, 'cloakroom:')).resolves.toBeUndefined();
});

test('a changed password is used with Sentinels, too, and by whatever connects again', async () => {
  await topology.settled();
  await using client = connect();
  await redisReady(client);
  // Who stays signed in while no password is the old one any more.
  const servers = [...topology.nodes, ...topology.sentinels];
  const admins = servers.map(({ port }) => new Redis({ port, password: PASSWORD, enableReadyCheck: false }));
  const tellAll = async (...rules: string[]) =>
    Promise.all(admins.map(async (admin) => admin.call('ACL', 'SETUSER', 'default', ...rules)));
  try {
    await tellAll('>another');
    await changeLogin(client, { password: 'another' });
    await tellAll('resetpass', '>another');
    const back = once(client, 'ready');
    await Promise.all(admins.map(async (admin) => admin.call('CLIENT', 'KILL', 'TYPE', 'normal')));
    await back;
    expect(await client.ping()).toBe('PONG');
  } finally {
    await tellAll('resetpass', `>${PASSWORD}`);
    await admins[topology.nodes.length]?.call('ACL', 'SETUSER', 'default', 'nopass'); // the first Sentinel
    for (const admin of admins) admin.disconnect();
  }
});
