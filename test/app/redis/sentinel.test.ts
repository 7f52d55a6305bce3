import { expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { once } from 'node:events';
import { changeLogin, tryLogin } from '../../../src/redis/login.ts';
import { StoreUnavailableError, closeRedis } from '../../../src/redis/client.ts';
import { createSessionReads } from '../../../src/redis/session-reads.ts';
import { eventually } from '../../support/eventually.ts';
import { useFixture } from '../../support/fixtures.ts';
import { openRedis } from '../../support/redis/clients.ts';
import { PASSWORD, isReplica, type RedisNode } from '../../support/redis/redis-node.ts';
import { startSentinels } from '../../support/redis/sentinels.ts';
import { startStopwatch } from '../../support/stopwatch.ts';

const topology = useFixture(startSentinels);

/** Opens a client once the Sentinels are able to fail over. */
async function openSettled() {
  await topology.readyForFailover();
  return openRedis(topology.url);
}

/** Runs `work` while the master hangs. */
async function whileMasterHangs(work: (master: RedisNode) => Promise<void>): Promise<void> {
  const master = await topology.master();
  master.pause();
  try {
    await work(master);
  } finally {
    master.resume();
  }
}

test('a client skips a Sentinel that hangs', async () => {
  const [first] = topology.sentinels;
  first?.pause();
  try {
    await using client = await openRedis(topology.url);
    expect(await client.ping()).toBe('PONG');
  } finally {
    first?.resume();
  }
});

test('a client does not read from a former master that recovers after a failover', async () => {
  await using client = await openSettled();
  const read = createSessionReads(client, 60);
  const readBoth = async () => Promise.all([read('key'), read('key')]);
  await client.set('key', 'old', 'EX', 60);
  await client.wait(2, 1_000);
  const former = await topology.master();
  await whileMasterHangs(async (master) => {
    await eventually(async () => client.status === 'ready' && client.stream.remotePort !== master.port);
    await client.set('key', 'new', 'EX', 60);
  });
  const values: unknown[] = [];
  await eventually(async () => {
    values.push(...(await readBoth().catch((error: unknown) => [error])));
    return isReplica(former);
  });
  expect(values.filter((one) => one !== 'new' && !(one instanceof StoreUnavailableError))).toEqual([]);
  await eventually(async () => client.status === 'ready');
  expect(await readBoth()).toEqual(['new', 'new']);
});

test('closing the client takes no longer than a command timeout, even if the master hangs', async () => {
  const client = await openSettled();
  await whileMasterHangs(async () => {
    using watch = startStopwatch();
    await closeRedis(client);
    expect(watch.ms()).toBeLessThan(2_000);
  });
});

// These tests come last, because Sentinels are slow to fail over after a refused login.

test('a new login is tried on the master', async () => {
  await using client = await openSettled();
  const master = await topology.master();
  await master.sendCommand('ACL', 'SETUSER', 'app', 'reset', 'on', '>one', '~*', '+@all', '-getex');
  const login = { username: 'app', password: 'one' };
  await expect(tryLogin(client, login, 'cloakroom:')).rejects.toThrow(
    'REDIS_URL has a user without a permission',
  );
  await master.sendCommand('ACL', 'SETUSER', 'app', '+getex');
  await expect(tryLogin(client, login, 'cloakroom:')).resolves.toBeUndefined();
});

test('a changed password is also used for Sentinels and new connections', async () => {
  await using client = await openSettled();
  // These connections stay authenticated even after the servers stop accepting the old password.
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
