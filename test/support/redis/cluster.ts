import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { freePort } from '../fleet/free-port.ts';
import { eventually } from '../eventually.ts';
import { PASSWORD, startRedisNode, type RedisNode } from './redis-node.ts';

/** Who serves a third of the keys: at first the master, after a failover the replica. */
export interface Shard {
  readonly master: RedisNode;
  readonly replica: RedisNode;
}

/** Three masters with a replica each. */
export interface ClusterTopology extends AsyncDisposable {
  /** For `REDIS_URL`. */
  readonly url: string;
  readonly shards: readonly [Shard, Shard, Shard];
}

/** So long a silence is an outage, ms: Redis's own default, and what a machine that does other things too hardly looks like. */
const NODE_TIMEOUT_MS = { usual: 15_000, forOutages: 1_500 };

/**
 * Starts them; resolves when all nodes agree on who is who, and a failover would succeed. Where a test makes outages, one is soon
 * seen as such.
 */
export async function startCluster(
  silence: keyof typeof NODE_TIMEOUT_MS = 'usual',
): Promise<ClusterTopology> {
  const nodes = await Promise.all(
    Array.from({ length: 6 }, async () => startRedisNode(async () => toSettings(NODE_TIMEOUT_MS[silence]))),
  );
  const addresses = nodes.map(({ port }) => `127.0.0.1:${port}`);
  const create = ['--cluster', 'create', ...addresses, '--cluster-replicas', '1', '--cluster-yes'];
  await promisify(execFile)('redis-cli', create, { env: { ...process.env, REDISCLI_AUTH: PASSWORD } });
  await eventually(async () => (await Promise.all(nodes.map(knowsAll))).every(Boolean));

  const node = (at: [host: string, port: number] | undefined) => {
    const found = nodes.find(({ port }) => port === at?.[1]);
    if (found === undefined) throw new Error('a node is none of ours');
    return found;
  };
  const slots = await askSlots(nodes[0]);
  const [first, second, third] = slots.map(([, , master, replica]) => ({
    master: node(master),
    replica: node(replica),
  }));
  if (first === undefined || second === undefined || third === undefined) throw new Error('no three masters');

  return {
    url: `redis+cluster://:${encodeURIComponent(PASSWORD)}@${addresses.join(',')}`,
    shards: [first, second, third],
    async [Symbol.asyncDispose]() {
      await Promise.all(nodes.map(async (one) => one[Symbol.asyncDispose]()));
    },
  };
}

async function toSettings(nodeTimeoutMs: number): Promise<string[]> {
  return [
    `requirepass "${PASSWORD}"`,
    `masterauth "${PASSWORD}"`,
    'cluster-enabled yes',
    `cluster-port ${await freePort()}`,
    `cluster-node-timeout ${nodeTimeoutMs}`,
    'cluster-require-full-coverage no', // or the loss of one third would take the others with it
    'repl-diskless-sync-delay 0',
    'repl-ping-replica-period 1', // a replica is not named before it has heard anything
    'shutdown-timeout 0', // or a master that ends waits ten seconds for a replica that is not there
  ];
}

type Slots = [from: number, to: number, ...nodes: [host: string, port: number][]];

async function askSlots(node: RedisNode | undefined): Promise<Slots[]> {
  return (await node?.ask('CLUSTER', 'SLOTS')) as Slots[];
}

async function knowsAll(node: RedisNode): Promise<boolean> {
  const slots = await askSlots(node);
  const isMaster = slots.some(([, , [, port] = ['', 0]]) => port === node.port);
  const link = isMaster ? /state=online/ : /master_link_status:up/;
  const isInSync = link.test(String(await node.ask('INFO', 'replication')));
  return slots.length === 3 && slots.every((range) => range.length === 4) && isInSync;
}
