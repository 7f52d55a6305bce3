import { eventually } from '../eventually.ts';
import { PASSWORD, startRedisNode, type RedisNode } from './redis-node.ts';

/** A master and two replicas under the eyes of three Sentinels, two of which must agree. */
export interface SentinelTopology extends AsyncDisposable {
  /** For `REDIS_URL`. */
  readonly url: string;
  readonly nodes: readonly RedisNode[];
  readonly sentinels: readonly RedisNode[];
  /** Who is the master, by what the first Sentinel says that responds. */
  master(): Promise<RedisNode>;
  /** Resolves when a failover would succeed, after another one. */
  settled(): Promise<void>;
}

const NAME = 'the-master';

/**
 * A second of silence is an outage: a machine that does other things too shall not look like one. The third Sentinel is
 * slower to see it: with three that all stand for the lead at once, none may get two votes.
 */
const DOWN_AFTER_MS = [1_000, 1_000, 1_500];
/** Twice this long after one failover begins, the next one may. */
const FAILOVER_TIMEOUT_MS = 1_000;

/** Sentinel's own clocks, in ms: it would ask and tell every second, two or ten, and wait for four such rounds. */
const FASTER = ['INFO-PERIOD', '300', 'PING-PERIOD', '200', 'ASK-PERIOD', '200', 'PUBLISH-PERIOD', '300'];

/** Of the Sentinels the first has no password: both kinds are found. */
const REQUIRE_PASSWORD = `requirepass "${PASSWORD}"`;

const NODE_SETTINGS = [
  REQUIRE_PASSWORD,
  `masterauth "${PASSWORD}"`,
  'repl-diskless-sync-delay 0',
  'repl-ping-replica-period 1',
  'shutdown-timeout 0', // or a master that ends waits ten seconds for a replica that is not there
];

/** Starts them; resolves when every Sentinel knows the whole testApp, and a failover would succeed. */
export async function startSentinels(): Promise<SentinelTopology> {
  const first = await startRedisNode(() => NODE_SETTINGS);
  const replicas = await Promise.all(
    Array.from({ length: 2 }, async () =>
      startRedisNode(() => [...NODE_SETTINGS, `replicaof 127.0.0.1 ${first.port}`]),
    ),
  );
  const nodes = [first, ...replicas];
  const sentinels = await Promise.all(
    DOWN_AFTER_MS.map(async (downAfterMs, at) =>
      startRedisNode(
        () => [...toSentinelSettings(first.port, downAfterMs), ...(at === 0 ? [] : [REQUIRE_PASSWORD])],
        'sentinel',
      ),
    ),
  );
  for (const sentinel of sentinels) await sentinel.ask('SENTINEL', 'DEBUG', ...FASTER);
  await eventually(async () => (await Promise.all(sentinels.map(knowsAll))).every(Boolean));

  const master = async () => {
    const [, port] = (await Promise.any(sentinels.map(askMaster))) as [string, string];
    const found = nodes.find((node) => node.port === Number(port));
    if (found === undefined) throw new Error('the master is none of ours');
    return found;
  };

  const hosts = sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',');
  return {
    url: `redis+sentinel://:${encodeURIComponent(PASSWORD)}@${hosts}/${NAME}`,
    nodes,
    sentinels,
    master,
    settled: async () =>
      eventually(async () => {
        // One that changes its role closes connections.
        const replication = await (await master()).ask('INFO', 'replication').catch(() => '');
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

async function askMaster(sentinel: RedisNode): Promise<unknown> {
  return sentinel.ask('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', NAME);
}

async function knowsAll(sentinel: RedisNode): Promise<boolean> {
  const master = toRecord(await sentinel.ask('SENTINEL', 'MASTER', NAME));
  const replicas = (await sentinel.ask('SENTINEL', 'REPLICAS', NAME)) as string[][];
  const areInSync = replicas.every((replica) => toRecord(replica).get('master-link-status') === 'ok');
  return master.get('num-slaves') === '2' && master.get('num-other-sentinels') === '2' && areInSync;
}

function toRecord(response: unknown): Map<string, string> {
  const fields = response as string[];
  return new Map(
    fields.flatMap((field, at) => (at % 2 === 0 ? [[field, fields[at + 1] ?? ''] as const] : [])),
  );
}
