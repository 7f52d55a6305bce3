import type { RedisTarget } from '../../config/redis-url.ts';
import { parseInfo, type RedisInfo } from '../../redis/info.ts';
import type { Settings } from './configuration.ts';
import {
  INVALID_VARIABLES,
  isResult,
  ok,
  problem,
  skipped,
  warning,
  combineResults,
  type Check,
  type Result,
} from './finding.ts';
import { explainRefusals, tryCommands, type Refusal } from './redis-commands.ts';
import { withConnection } from './redis-connection.ts';
import { findMasters } from './redis-topology.ts';

interface Master {
  readonly name: string;
  /** The kind of server that `REDIS_URL` specifies. */
  readonly kind: RedisTarget['kind'];
  /** The fields of the INFO reply; null if Redis refused INFO. */
  readonly info: RedisInfo | null;
  readonly refusals: readonly Refusal[];
}

interface Subject {
  /** The reachable masters; at least one. */
  readonly masters: readonly Master[];
  /** Problems with unreachable masters, and with the Sentinels or nodes that were queried for masters. */
  readonly remarks: readonly Result[];
}

export const redisChecks: readonly Check<Subject>[] = [
  { id: 'redis-reachable', title: 'Redis', run: checkReachable },
  { id: 'redis-role', title: 'Redis role', run: onEachMaster(checkRole) },
  {
    id: 'redis-commands',
    title: 'Redis commands',
    run: onEachMaster(({ refusals }) => explainRefusals(refusals)),
  },
  { id: 'redis-eviction', title: 'Redis eviction', run: onEachMaster(checkEviction) },
  { id: 'redis-persistence', title: 'Redis persistence', run: onEachMaster(checkPersistence) },
];

/** Reads INFO and tries Cloakroom's commands on Redis; with Sentinels or a cluster, on each master. */
export async function readRedis({ values }: Settings): Promise<Subject | Result> {
  const { REDIS_URL: target, REDIS_PREFIX: prefix } = values;
  if (target === undefined || prefix === undefined) return INVALID_VARIABLES;
  const { kind } = target;
  const topology = await findMasters(target);
  const outcomes = await Promise.all(
    topology.masters.map(async (server) =>
      withConnection(server, async (send): Promise<Master> => {
        const reply = await send('INFO');
        const info = 'value' in reply ? parseInfo(String(reply.value)) : null;
        return { name: server.name, kind, info, refusals: await tryCommands(send, prefix) };
      }),
    ),
  );
  const masters = outcomes.flatMap((outcome) => (isResult(outcome) ? [] : [outcome]));
  const remarks = [...topology.remarks, ...outcomes.filter(isResult)];
  return masters.length > 0 ? { masters, remarks } : combineResults(remarks);
}

/** Runs a check on each master. If there are several, the result names the affected masters. */
function onEachMaster(check: (master: Master) => Result): (subject: Subject) => Result {
  return ({ masters }) => {
    const results = masters.map((master) => {
      const result = check(master);
      return masters.length === 1 ? result : { ...result, detail: `${master.name}: ${result.detail}` };
    });
    return combineResults(results);
  };
}

function checkReachable({ masters, remarks }: Subject): Result {
  return combineResults([ok(`Redis responds at ${masters.map(({ name }) => name).join(', ')}.`), ...remarks]);
}

/** Detects a Sentinel or a cluster node behind `redis://`. Both accept connections, but can't serve most keys. */
export function checkRole({ kind, info }: Pick<Master, 'kind' | 'info'>): Result {
  if (info === null) return NEEDS_INFO;
  const mode = info.get('redis_mode');
  if (mode === 'sentinel') {
    return problem(
      'REDIS_URL points to a Sentinel, which stores no data.',
      'Set REDIS_URL to redis+sentinel://host:26379/MASTER_NAME.',
    );
  }
  if (mode === 'cluster' && kind !== 'cluster') {
    return problem(
      'REDIS_URL points to one node of a cluster, but other nodes store most of the keys.',
      'Set REDIS_URL to redis+cluster://host:6379,host:6379.',
    );
  }
  return ok('Redis is the kind of server that REDIS_URL specifies.');
}

export function checkEviction({ info }: Pick<Master, 'info'>): Result {
  if (info === null) return NEEDS_INFO;
  const policy = info.get('maxmemory_policy') ?? 'unknown';
  if (policy === 'noeviction') return ok('The policy is noeviction, so Redis never evicts sessions.');
  const detail = `maxmemory-policy is ${policy}. When memory is full, Redis evicts sessions, and users must sign in again.`;
  const remedy = 'Set maxmemory-policy to noeviction. Move data that needs eviction to another Redis.';
  return Number(info.get('maxmemory') ?? 0) > 0
    ? problem(detail, remedy)
    : warning(`${detail} maxmemory is not set yet.`, remedy);
}

export function checkPersistence({ info }: Pick<Master, 'info'>): Result {
  if (info === null) return NEEDS_INFO;
  if (info.get('aof_enabled') === '1') return ok('The append-only file is enabled (appendonly yes).');
  return warning(
    'The append-only file is disabled. A crash loses recent sessions, or all sessions if Redis takes no snapshots.',
    'Set appendonly to yes, and keep the file on persistent storage.',
  );
}

const NEEDS_INFO = skipped(
  'The user in REDIS_URL lacks permission to run INFO.',
  'Grant permission: ACL SETUSER <user> +info',
);
