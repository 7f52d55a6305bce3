import { expect, test } from '@jest/globals';
import { changeLogin, tryLogin } from '../../../src/redis/login.ts';
import { redisReady } from '../../../src/redis/client.ts';
import { createSessionReads } from '../../../src/redis/session-reads.ts';
import { eventually } from '../../support/eventually.ts';
import { useFixture } from '../../support/fixtures.ts';
import { openClient } from '../../support/redis/clients.ts';
import { startCluster } from '../../support/redis/cluster.ts';
import { PASSWORD, isReplica, type RedisNode } from '../../support/redis/redis-node.ts';

const topology = useFixture(startCluster);
const client = useFixture(async () => openClient(topology.url));

const SECONDS = 60;
/** All nodes, grouped by shard. */
const nodesByShard = () => topology.shards.map(({ master, replica }) => [master, replica]);
const tell = async (nodes: readonly RedisNode[], ...command: string[]) =>
  Promise.all(nodes.map(async (node) => node.sendCommand(...command)));

test('every master can be read as soon as the client is ready', async () => {
  await using another = await openClient(topology.url);
  const keys = Array.from({ length: 50 }, (_, at) => `ready:${at}`);
  const values = await Promise.all(keys.map(createSessionReads(another, SECONDS)));
  expect(new Set(values)).toEqual(new Set([null]));
});

test('a changed password is used on every node and for new connections', async () => {
  const tellAll = async (...command: string[]) => tell(nodesByShard().flat(), ...command);
  await tellAll('ACL', 'SETUSER', 'app', 'on', '>one', '~*', '&*', '+@all');
  const url = topology.url.replace(/:[^/]+@/, 'app:one@');
  await using app = await openClient(url);
  const keys = Array.from({ length: 50 }, (_, at) => `login:${at}`);
  const readAll = async () => Promise.all(keys.map(async (key) => app.getex(key, 'EX', SECONDS)));

  const changing = changeLogin(app, { username: 'app', password: 'two' });
  await expect(changing).rejects.toThrow('REDIS_URL has a user or password that Redis refuses');
  await tellAll('ACL', 'SETUSER', 'app', '>two');
  await changeLogin(app, { username: 'app', password: 'two' });
  expect(new Set(await readAll())).toEqual(new Set([null]));
  await tellAll('ACL', 'SETUSER', 'app', '<one');
  await tellAll('CLIENT', 'KILL', 'USER', 'app');
  await eventually(async () =>
    readAll().then(
      () => true,
      () => false,
    ),
  );
});

test.each([
  ['with a password', 'guest:one', 'guest'],
  ['with the password of the default user', `:${encodeURIComponent(PASSWORD)}`, 'default'],
])('if one node refuses a login, other nodes keep the old login (%s)', async (_how, before, user) => {
  const shards = nodesByShard();
  const [, ...others] = shards;
  await tell(shards.flat(), 'ACL', 'SETUSER', 'guest', 'on', '>one', '~*', '&*', '+@all');
  await tell(others.flat(), 'ACL', 'SETUSER', 'next', 'on', '>two', '~*', '&*', '+@all');
  await using app = await openClient(topology.url.replace(/:[^/]+@/, `${before}@`));
  const usersAt = async (nodes: readonly RedisNode[]) =>
    new Set((await tell(nodes, 'CLIENT', 'LIST')).join('\n').match(/(?<=\buser=)(?:guest|next)\b/g));

  await expect(changeLogin(app, { username: 'next', password: 'two' })).rejects.toThrow('Redis refuses');
  const left = new Set(user === 'guest' ? ['guest'] : []);
  expect(await Promise.all(shards.map(usersAt))).toEqual([left, left, left]);
});

test('a login is tried on every node, not only on the node that stores the key', async () => {
  const shards = nodesByShard();
  await tell(shards.flat(), 'ACL', 'SETUSER', 'tried', 'reset', 'on', '>one', '~cloakroom:*', '+@all');
  const login = { username: 'tried', password: 'one' };
  await expect(tryLogin(client, login, 'cloakroom:')).resolves.toBeUndefined();
  await redisReady(client); // wait for a connection to each master, because a failover may have just changed the masters
  for (const nodes of shards) {
    await tell(nodes, 'ACL', 'SETUSER', 'tried', '-getex');
    await expect(tryLogin(client, login, 'cloakroom:')).rejects.toThrow(
      'REDIS_URL has a user without a permission',
    );
    await tell(nodes, 'ACL', 'SETUSER', 'tried', '+getex');
  }
});

test('while a slot is moving to another master, every key can still be found', async () => {
  const keys = ['{moving}:first', '{moving}:second'];
  for (const key of keys) await client.set(key, key, 'EX', SECONDS);
  const { slot, from, to } = await pickMove('{moving}');
  await to.sendCommand('CLUSTER', 'SETSLOT', slot, 'IMPORTING', await idOf(from));
  await from.sendCommand('CLUSTER', 'SETSLOT', slot, 'MIGRATING', await idOf(to));
  const target = ['127.0.0.1', String(to.port), '{moving}:first', '0', '1000', 'AUTH', PASSWORD];
  await from.sendCommand('MIGRATE', ...target);

  const readAll = async () => Promise.all(keys.map(createSessionReads(client, SECONDS)));
  expect(await readAll()).toEqual(keys);
  expect(await client.set('{moving}:new', 'new', 'EX', SECONDS, 'NX')).toBe('OK');

  await from.sendCommand('MIGRATE', ...target.with(2, '{moving}:second'));
  for (const node of [to, from]) await node.sendCommand('CLUSTER', 'SETSLOT', slot, 'NODE', await idOf(to));
  expect(await readAll()).toEqual(keys);
});

test('during a requested failover, commands fail only on a connection that ioredis replaces', async () => {
  const [{ master, replica }] = topology.shards;
  const keys = Array.from({ length: 30 }, (_, at) => `key:${at}`);
  const readAll = async () => {
    const reads = await Promise.allSettled(keys.map(async (key) => client.getex(key, 'EX', SECONDS)));
    return reads.flatMap((read) => (read.status === 'rejected' ? [String(read.reason)] : []));
  };
  const failures: string[][] = [];
  await replica.sendCommand('CLUSTER', 'FAILOVER');
  await eventually(async () => {
    failures.push(await readAll());
    return isReplica(master);
  });
  expect(await readAll()).toEqual([]);
  // ioredis replaces a connection whose node redirects to itself, and commands in flight on that connection fail.
  expect(failures.filter((errors) => errors.length > 0).length).toBeLessThanOrEqual(1);
  expect(failures.flat().filter((error) => error !== 'Error: Connection is closed.')).toEqual([]);
});

async function idOf(node: RedisNode): Promise<string> {
  return String(await node.sendCommand('CLUSTER', 'MYID'));
}

/** Returns the slot of a key, its master and another master. */
async function pickMove(key: string): Promise<{ slot: string; from: RedisNode; to: RedisNode }> {
  const masters: RedisNode[] = [];
  for (const { master, replica } of topology.shards)
    masters.push((await isReplica(master)) ? replica : master);
  const replies = await Promise.allSettled(masters.map(async (node) => node.sendCommand('GET', key)));
  const from = masters[replies.findIndex(({ status }) => status === 'fulfilled')];
  const to = masters.find((node) => node !== from);
  if (from === undefined || to === undefined) throw new Error('no master has the key');
  // The nodes learn about a failover at different times.
  await eventually(async () => (await knowsAsMaster(from, to)) && knowsAsMaster(to, from));
  return { slot: String(await from.sendCommand('CLUSTER', 'KEYSLOT', key)), from, to };
}

async function knowsAsMaster(node: RedisNode, other: RedisNode): Promise<boolean> {
  const [known, id] = [String(await node.sendCommand('CLUSTER', 'NODES')), await idOf(other)];
  return known.split('\n').some((line) => line.startsWith(id) && /^\S+ \S+ master\b/.test(line));
}
