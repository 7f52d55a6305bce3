import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { examined } from '../../../support/doctor/doctor.ts';
import { startCluster } from '../../../support/redis/cluster.ts';
import type { ClusterTopology } from '../../../support/redis/cluster.ts';
import { startSentinels } from '../../../support/redis/sentinels.ts';
import type { SentinelTopology } from '../../../support/redis/sentinels.ts';

let cluster: ClusterTopology;
let sentinels: SentinelTopology;

beforeAll(async () => {
  [cluster, sentinels] = await Promise.all([startCluster(), startSentinels()]);
});

afterAll(async () => {
  await Promise.all([cluster[Symbol.asyncDispose](), sentinels[Symbol.asyncDispose]()]);
});

test('behind Sentinels it is the master that is looked at', async () => {
  const said = await examined({ REDIS_URL: sentinels.url });
  const { port } = await sentinels.master();
  expect(said('redis-reachable')).toMatchObject({ status: 'ok', detail: `Answers at 127.0.0.1:${port}.` });
  expect(said('redis-role').status).toBe('ok');
  expect(said('redis-commands').status).toBe('ok');
});

test('a Sentinel that is away is a warning by its name', async () => {
  const said = await examined({ REDIS_URL: sentinels.url.replace('@', '@127.0.0.1:1,') });
  expect(said('redis-reachable')).toMatchObject({
    status: 'warning',
    detail: 'Sentinel 127.0.0.1:1 refuses connections: nothing listens there.',
  });
  expect(said('redis-commands').status).toBe('ok');
});

test('without any Sentinel it is a problem', async () => {
  const said = await examined({ REDIS_URL: 'redis+sentinel://127.0.0.1:1,127.0.0.1:2/the-master' });
  expect(said('redis-reachable')).toMatchObject({
    status: 'problem',
    detail: expect.stringMatching(/127\.0\.0\.1:1 .*127\.0\.0\.1:2 /),
  });
});

test('a master that no Sentinel knows is told', async () => {
  const said = await examined({ REDIS_URL: sentinels.url.replace(/\/[\w-]+$/, '/another-master') });
  expect(said('redis-reachable')).toMatchObject({
    status: 'problem',
    detail: 'No Sentinel watches over a master of the name in REDIS_URL.',
  });
});

test('a Sentinel in the place of a Redis is told', async () => {
  const [port] = sentinels.sentinels.map((sentinel) => sentinel.port);
  const said = await examined({ REDIS_URL: `redis://127.0.0.1:${port}` });
  expect(said('redis-role')).toMatchObject({
    status: 'problem',
    detail: expect.stringContaining('Sentinel'),
  });
});

test.each(['cluster|slots', 'cluster|info'])(
  'in a cluster a user who may not run %s is told which commands to allow',
  async (command) => {
    const nodes = cluster.shards.flatMap(({ master, replica }) => [master, replica]);
    const rights = ['on', '>a-password', '~cloakroom:*', '+@all', `-${command}`];
    for (const node of nodes) await node.ask('ACL', 'SETUSER', 'cloakroom', 'reset', ...rights);
    const said = await examined({ REDIS_URL: cluster.url.replace(/:[^/]+@/, 'cloakroom:a-password@') });
    expect(said('redis-reachable')).toMatchObject({
      status: 'problem',
      detail: expect.stringContaining('may not run CLUSTER SLOTS and CLUSTER INFO'),
      remedy: expect.stringContaining(`+${command}`),
    });
    expect(said('redis-reachable').detail).not.toContain('no cluster');
  },
);

test('Sentinels that can’t be asked for the master are told as that; what Cloakroom never asks them is of no account', async () => {
  const { sentinels: all } = sentinels;
  const allow = async (right: string) =>
    Promise.all(all.map(async (sentinel) => sentinel.ask('ACL', 'SETUSER', 'default', right)));
  try {
    await allow('-sentinel|ckquorum');
    const withoutQuorum = await examined({ REDIS_URL: sentinels.url });
    expect(withoutQuorum('redis-reachable').status).toBe('ok');
    await allow('-sentinel|get-master-addr-by-name');
    const withoutMaster = await examined({ REDIS_URL: sentinels.url });
    expect(withoutMaster('redis-reachable')).toMatchObject({
      status: 'problem',
      detail: 'Who asks Sentinels for the master may not.',
      remedy: expect.stringContaining('+sentinel|get-master-addr-by-name'),
    });
  } finally {
    await allow('+@all');
  }
});

test('in a cluster each master is looked at, with keys of its own', async () => {
  const said = await examined({ REDIS_URL: cluster.url });
  const { detail } = said('redis-reachable');
  for (const { master } of cluster.shards) expect(detail).toContain(String(master.port));
  expect(said('redis-commands').status).toBe('ok');
  for (const { master } of cluster.shards) expect(await master.ask('DBSIZE')).toBe(0);
});

test('a master with several ranges of slots is looked at once', async () => {
  const [{ master: from }, { master: to }] = cluster.shards;
  const id = String(await to.ask('CLUSTER', 'MYID'));
  for (const node of [to, from]) await node.ask('CLUSTER', 'SETSLOT', '0', 'NODE', id);
  const said = await examined({ REDIS_URL: cluster.url });
  expect(said('redis-reachable').detail.split(`127.0.0.1:${to.port}`)).toHaveLength(2);
});

test('what is wrong with one master is told by its name', async () => {
  const [{ master }] = cluster.shards;
  await master.ask('CONFIG', 'SET', 'maxmemory', '100mb', 'maxmemory-policy', 'allkeys-lru');
  const said = await examined({ REDIS_URL: cluster.url });
  await master.ask('CONFIG', 'SET', 'maxmemory', '0', 'maxmemory-policy', 'noeviction');
  expect(said('redis-eviction')).toMatchObject({
    status: 'problem',
    detail: expect.stringMatching(
      new RegExp(`^127\\.0\\.0\\.1:${master.port}: maxmemory-policy is allkeys-lru`),
    ),
  });
});

test('one node of a cluster named alone is a problem', async () => {
  const said = await examined({ REDIS_URL: cluster.url.replace('+cluster', '').replace(/,.*$/, '') });
  expect(said('redis-role')).toMatchObject({ status: 'problem', detail: expect.stringContaining('cluster') });
});

test('a Redis that is none of a cluster is told', async () => {
  const { port } = await sentinels.master();
  const said = await examined({ REDIS_URL: cluster.url.replace(/@.*$/, `@127.0.0.1:${port}`) });
  expect(said('redis-reachable')).toMatchObject({
    status: 'problem',
    detail: 'What answers is no cluster, or one without slots.',
  });
});
