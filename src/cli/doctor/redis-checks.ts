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

/** A master, as described by its own replies. */
interface Master {
  readonly name: string;
  /** The kind of server that `REDIS_URL` specifies. */
  readonly kind: RedisTarget['kind'];
  /** The fields of the INFO reply; null if the user may not run INFO. */
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
  { id: 'redis-role', title: 'Redis: role', run: onEachMaster(checkRole) },
  {
    id: 'redis-commands',
    title: 'Redis: commands',
    run: onEachMaster(({ refusals }) => explainRefusals(refusals)),
  },
  { id: 'redis-eviction', title: 'Redis: eviction', run: onEachMaster(checkEviction) },
  { id: 'redis-persistence', title: 'Redis: persistence', run: onEachMaster(checkPersistence) },
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
  return combineResults([ok(`It responds at ${masters.map(({ name }) => name).join(', ')}.`), ...remarks]);
}

/** Detects a Sentinel or a cluster node behind `redis://`. Both accept connections, but fail for most keys. */
export function checkRole({ kind, info }: Pick<Master, 'kind' | 'info'>): Result {
  if (info === null) return NEEDS_INFO;
  const mode = info.get('redis_mode');
  if (mode === 'sentinel') {
    return problem(
      'It is a Sentinel and stores no data.',
      'Use redis+sentinel://host:26379/name-of-the-master.',
    );
  }
  if (mode === 'cluster' && kind !== 'cluster') {
    return problem(
      'It is one node of a cluster, and other nodes store most of the keys.',
      'Use redis+cluster://host:6379,host:6379 in REDIS_URL.',
    );
  }
  return ok('It is the kind of server that REDIS_URL specifies.');
}

export function checkEviction({ info }: Pick<Master, 'info'>): Result {
  if (info === null) return NEEDS_INFO;
  const policy = info.get('maxmemory_policy') ?? 'unknown';
  if (policy === 'noeviction') return ok('noeviction: Redis never evicts sessions.');
  const detail = `maxmemory-policy is ${policy}: when its memory is full, Redis evicts sessions and so signs users out.`;
  const remedy = 'Set maxmemory-policy noeviction. Move data that needs eviction to another Redis.';
  return Number(info.get('maxmemory') ?? 0) > 0
    ? problem(detail, remedy)
    : warning(`${detail} maxmemory is not set yet.`, remedy);
}

export function checkPersistence({ info }: Pick<Master, 'info'>): Result {
  if (info === null) return NEEDS_INFO;
  if (info.get('aof_enabled') === '1') return ok('It has an append-only file (appendonly).');
  return warning(
    'It has no append-only file: a crash loses the sessions since the last snapshot, or all of them.',
    'Set appendonly yes, and keep the file on persistent storage.',
  );
}

const NEEDS_INFO = skipped('Its user may not run INFO.', 'To enable this check: ACL SETUSER <user> +info');
