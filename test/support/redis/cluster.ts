import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { freePort } from '../fleet/free-port.ts';
import { eventually } from '../eventually.ts';
import { PASSWORD, startRedisNode, type RedisNode } from './redis-node.ts';

/** A master and its replica, which hold a third of the keys. A failover makes the replica the master. */
export interface Shard {
  readonly master: RedisNode;
  readonly replica: RedisNode;
}

const SETTINGS = [
  `requirepass "${PASSWORD}"`,
  `masterauth "${PASSWORD}"`,
  'cluster-enabled yes',
  'cluster-require-full-coverage no', // otherwise, the loss of one shard would stop the others
  'repl-diskless-sync-delay 0',
  'repl-ping-replica-period 1', // CLUSTER SLOTS lists a replica only after its first message from the master
  'shutdown-timeout 0', // otherwise, a master waits 10 s for a replica that has ended
];

/** The time without a reply after which nodes consider another node failed. Redis's default is long enough for a busy machine. */
const NODE_TIMEOUT_MS = { usual: 15_000, forOutages: 1_500 };

/** Starts three masters with one replica each. Resolves once all nodes agree on their roles and a failover would succeed. */
export async function startCluster(timeout: keyof typeof NODE_TIMEOUT_MS = 'usual') {
  const nodes = await Promise.all(
    Array.from({ length: 6 }, async () =>
      startRedisNode([
        ...SETTINGS,
        `cluster-port ${await freePort()}`,
        `cluster-node-timeout ${NODE_TIMEOUT_MS[timeout]}`,
      ]),
    ),
  );
  const addresses = nodes.map(({ port }) => `127.0.0.1:${port}`);
  const create = ['--cluster', 'create', ...addresses, '--cluster-replicas', '1', '--cluster-yes'];
  await promisify(execFile)('redis-cli', create, { env: { ...process.env, REDISCLI_AUTH: PASSWORD } });
  await eventually(async () => (await Promise.all(nodes.map(seesAllNodes))).every(Boolean));

  const node = (at: [host: string, port: number] | undefined) => {
    const found = nodes.find(({ port }) => port === at?.[1]);
    if (found === undefined) throw new Error(`no node has the port ${at?.[1]}`);
    return found;
  };
  const slots = await readSlots(nodes[0]);
  const [first, second, third] = slots.map(([, , master, replica]) => ({
    master: node(master),
    replica: node(replica),
  }));
  if (first === undefined || second === undefined || third === undefined) throw new Error('too few masters');
  const shards: readonly [Shard, Shard, Shard] = [first, second, third];

  return {
    nodes,
    /** The value for `REDIS_URL`. */
    url: `redis+cluster://:${encodeURIComponent(PASSWORD)}@${addresses.join(',')}`,
    shards,
    async [Symbol.asyncDispose]() {
      await Promise.all(nodes.map(async (one) => one[Symbol.asyncDispose]()));
    },
  };
}

type Slots = [from: number, to: number, ...nodes: [host: string, port: number][]];

async function readSlots(node: RedisNode | undefined): Promise<Slots[]> {
  return (await node?.sendCommand('CLUSTER', 'SLOTS')) as Slots[];
}

async function seesAllNodes(node: RedisNode): Promise<boolean> {
  const slots = await readSlots(node);
  const isMaster = slots.some(([, , [, port] = ['', 0]]) => port === node.port);
  const link = isMaster ? /state=online/ : /master_link_status:up/;
  const isInSync = link.test(String(await node.sendCommand('INFO', 'replication')));
  return slots.length === 3 && slots.every((range) => range.length === 4) && isInSync;
}
