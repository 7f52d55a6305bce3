import { expect, test } from '@jest/globals';
import { runDoctor, finding } from '../../../support/doctor/doctor.ts';
import { useFixture } from '../../../support/fixtures.ts';
import { startCluster } from '../../../support/redis/cluster.ts';
import { startSentinels } from '../../../support/redis/sentinels.ts';

const cluster = useFixture(startCluster);
const sentinels = useFixture(startSentinels);

test('the doctor checks the master that the Sentinels report', async () => {
  const findingOf = await runDoctor({ REDIS_URL: sentinels.url });
  const { port } = await sentinels.master();
  expect(findingOf('redis-reachable')).toMatchObject(finding('ok', `Redis responds at 127.0.0.1:${port}.`));
  for (const id of ['redis-role', 'redis-commands']) expect(findingOf(id).status).toBe('ok');
});

test('the doctor warns about an unreachable Sentinel and shows its address', async () => {
  const findingOf = await runDoctor({ REDIS_URL: sentinels.url.replace('@', '@127.0.0.1:1,') });
  expect(findingOf('redis-reachable')).toMatchObject(finding('warning', '127.0.0.1:1 refuses connections.'));
  expect(findingOf('redis-commands').status).toBe('ok');
});

test('the doctor reports a problem if no Sentinel can be reached', async () => {
  const findingOf = await runDoctor({ REDIS_URL: 'redis+sentinel://127.0.0.1:1,127.0.0.1:2/the-master' });
  expect(findingOf('redis-reachable')).toMatchObject(finding('problem', /127\.0\.0\.1:1 .*127\.0\.0\.1:2 /));
});

test('a master name that no Sentinel monitors is a problem', async () => {
  const findingOf = await runDoctor({ REDIS_URL: sentinels.url.replace(/\/[\w-]+$/, '/another-master') });
  expect(findingOf('redis-reachable')).toMatchObject(
    finding('problem', 'A Sentinel does not monitor a master with the name in REDIS_URL.'),
  );
});

test('a redis:// URL that points to a Sentinel is a problem', async () => {
  const [port] = sentinels.sentinels.map((sentinel) => sentinel.port);
  const findingOf = await runDoctor({ REDIS_URL: `redis://127.0.0.1:${port}` });
  expect(findingOf('redis-role')).toMatchObject(finding('problem', 'REDIS_URL points to a Sentinel'));
});

test('if the Sentinel user lacks permission to look up the master, the doctor names the missing permission', async () => {
  const command = 'sentinel|get-master-addr-by-name';
  const allow = async (right: string) =>
    Promise.all(
      sentinels.sentinels.map(async (each) => each.sendCommand('ACL', 'SETUSER', 'default', right)),
    );
  await allow(`-${command}`);
  const findingOf = await runDoctor({ REDIS_URL: sentinels.url });
  await allow('+@all');
  const words = 'A Sentinel refuses to return the address of the master.';
  expect(findingOf('redis-reachable')).toMatchObject(finding('problem', words, `+${command}`));
});

test.each(['cluster|slots', 'cluster|info'])('a cluster user needs permission to run %s', async (command) => {
  const nodes = cluster.shards.flatMap(({ master, replica }) => [master, replica]);
  const rights = ['on', '>a-password', '~cloakroom:*', '+@all', `-${command}`];
  for (const node of nodes) await node.sendCommand('ACL', 'SETUSER', 'cloakroom', 'reset', ...rights);
  const findingOf = await runDoctor({ REDIS_URL: cluster.url.replace(/:[^/]+@/, 'cloakroom:a-password@') });
  expect(findingOf('redis-reachable')).toMatchObject(
    finding('problem', /lacks permission for CLUSTER SLOTS or CLUSTER INFO(?!.*no cluster)/, `+${command}`),
  );
});

test('the doctor checks each cluster master with a key in one of its slots', async () => {
  const findingOf = await runDoctor({ REDIS_URL: cluster.url });
  const { detail } = findingOf('redis-reachable');
  for (const { master } of cluster.shards) expect(detail).toContain(String(master.port));
  for (const id of ['redis-role', 'redis-commands']) expect(findingOf(id).status).toBe('ok');
  for (const { master } of cluster.shards) expect(await master.sendCommand('DBSIZE')).toBe(0);
});

test('the doctor checks a master with several slot ranges only once', async () => {
  const [{ master: from }, { master: to }] = cluster.shards;
  const id = String(await to.sendCommand('CLUSTER', 'MYID'));
  for (const node of [to, from]) await node.sendCommand('CLUSTER', 'SETSLOT', '0', 'NODE', id);
  const findingOf = await runDoctor({ REDIS_URL: cluster.url });
  expect(findingOf('redis-reachable').detail.split(`127.0.0.1:${to.port}`)).toHaveLength(2);
});

test('a problem with one master is reported with the address of that master', async () => {
  const [{ master }] = cluster.shards;
  await master.sendCommand('CONFIG', 'SET', 'maxmemory', '100mb', 'maxmemory-policy', 'allkeys-lru');
  const findingOf = await runDoctor({ REDIS_URL: cluster.url });
  await master.sendCommand('CONFIG', 'SET', 'maxmemory', '0', 'maxmemory-policy', 'noeviction');
  const { status, detail } = findingOf('redis-eviction');
  expect(status).toBe('problem');
  expect(detail.startsWith(`127.0.0.1:${master.port}: maxmemory-policy is allkeys-lru`)).toBe(true);
});

test('a redis:// URL for a single cluster node is a problem', async () => {
  const findingOf = await runDoctor({ REDIS_URL: cluster.url.replace('+cluster', '').replace(/,.*$/, '') });
  expect(findingOf('redis-role')).toMatchObject(finding('problem', 'one node of a cluster'));
});

test('a redis+cluster:// URL for a Redis server outside a cluster is a problem', async () => {
  const { port } = await sentinels.master();
  const findingOf = await runDoctor({ REDIS_URL: cluster.url.replace(/@.*$/, `@127.0.0.1:${port}`) });
  expect(findingOf('redis-reachable')).toMatchObject(
    finding('problem', 'A node in REDIS_URL does not belong to a cluster, or its cluster has no slots.'),
  );
});
