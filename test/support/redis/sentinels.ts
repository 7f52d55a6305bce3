import { eventually } from '../eventually.ts';
import { PASSWORD, startRedisNode, type RedisNode } from './redis-node.ts';

const NAME = 'the-master';

/**
 * The time in ms after which each Sentinel considers a master down, long enough for a busy machine. The third Sentinel is slower,
 * because three simultaneous candidates might get one vote each.
 */
const DOWN_AFTER_MS = [1_000, 1_000, 1_500];
/** A Sentinel may start another failover after twice this time. */
const FAILOVER_TIMEOUT_MS = 1_000;

/** Sentinel intervals in ms, shorter than the defaults of 1 to 10 s. */
const INTERVALS = ['INFO-PERIOD', '300', 'PING-PERIOD', '200', 'ASK-PERIOD', '200', 'PUBLISH-PERIOD', '300'];

const REQUIRE_PASSWORD = `requirepass "${PASSWORD}"`;

const NODE_SETTINGS = [
  REQUIRE_PASSWORD,
  `masterauth "${PASSWORD}"`,
  'repl-diskless-sync-delay 0',
  'repl-ping-replica-period 1',
  'shutdown-timeout 0', // otherwise, a master waits 10 s for a replica that has ended
];

/**
 * Starts a master, two replicas and three Sentinels with a quorum of two. Resolves once a failover would succeed. The first
 * Sentinel has no password; the others have one.
 */
export async function startSentinels() {
  const first = await startRedisNode(NODE_SETTINGS);
  const replicaSettings = [...NODE_SETTINGS, `replicaof 127.0.0.1 ${first.port}`];
  const replicas = [startRedisNode(replicaSettings), startRedisNode(replicaSettings)];
  const nodes = [first, ...(await Promise.all(replicas))];
  const sentinels = await Promise.all(
    DOWN_AFTER_MS.map(async (downAfterMs, at) => {
      const settings = toSentinelSettings(first.port, downAfterMs);
      return startRedisNode(at === 0 ? settings : [...settings, REQUIRE_PASSWORD], 'sentinel');
    }),
  );
  for (const sentinel of sentinels) await sentinel.sendCommand('SENTINEL', 'DEBUG', ...INTERVALS);
  await eventually(async () => (await Promise.all(sentinels.map(seesAllNodes))).every(Boolean));

  const master = async () => {
    const [, port] = (await Promise.any(sentinels.map(readMasterAddress))) as [string, string];
    const found = nodes.find((node) => node.port === Number(port));
    if (found === undefined) throw new Error(`no node has the port ${port} of the master`);
    return found;
  };

  const hosts = sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',');
  return {
    /** The value for `REDIS_URL`. */
    url: `redis+sentinel://:${encodeURIComponent(PASSWORD)}@${hosts}/${NAME}`,
    nodes,
    sentinels,
    /** Resolves with the master reported by the first Sentinel that replies. */
    master,
    /** Resolves once another failover would succeed. */
    readyForFailover: async () =>
      eventually(async () => {
        // A node closes its connections when its role changes.
        const replication = await (await master()).sendCommand('INFO', 'replication').catch(() => '');
        return String(replication).includes('state=online');
      }),
    async [Symbol.asyncDispose]() {
      await Promise.all([...sentinels, ...nodes].map(async (node) => node[Symbol.asyncDispose]()));
    },
  };
}

function toSentinelSettings(masterPort: number, downAfterMs: number): string[] {
  return [
    `sentinel monitor ${NAME} 127.0.0.1 ${masterPort} 2`,
    `sentinel auth-pass ${NAME} "${PASSWORD}"`,
    `sentinel sentinel-pass "${PASSWORD}"`,
    `sentinel down-after-milliseconds ${NAME} ${downAfterMs}`,
    `sentinel failover-timeout ${NAME} ${FAILOVER_TIMEOUT_MS}`,
  ];
}

async function readMasterAddress(sentinel: RedisNode): Promise<unknown> {
  return sentinel.sendCommand('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', NAME);
}

async function seesAllNodes(sentinel: RedisNode): Promise<boolean> {
  const master = toRecord(await sentinel.sendCommand('SENTINEL', 'MASTER', NAME));
  const replicas = (await sentinel.sendCommand('SENTINEL', 'REPLICAS', NAME)) as string[][];
  const areInSync = replicas.every((replica) => toRecord(replica).get('master-link-status') === 'ok');
  return master.get('num-slaves') === '2' && master.get('num-other-sentinels') === '2' && areInSync;
}

function toRecord(response: unknown): Map<string, string> {
  const fields = response as string[];
  return new Map(
    fields.flatMap((field, at) => (at % 2 === 0 ? [[field, fields[at + 1] ?? ''] as const] : [])),
  );
}
