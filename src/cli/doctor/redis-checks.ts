import { isLoopback } from '../../config/schema.ts';
import type { RedisTarget } from '../../config/redis-url.ts';
import { parseInfo, type RedisInfo } from '../../redis/info.ts';
import {
  ok,
  problem,
  runAll,
  skipped,
  warning,
  withoutSubject,
  worst,
  type Check,
  type Finding,
  type Result,
} from './finding.ts';
import { ConnectionError } from './network-errors.ts';
import { explainRefusals, tryCommands, type Refusal } from './redis-commands.ts';
import { withConnection, type RedisServer } from './redis-connection.ts';
import { findMasters } from './redis-topology.ts';
import type { Settings } from './configuration.ts';

/** What one master says about itself; null where it refuses to. */
export interface RedisFacts {
  readonly name: string;
  /** What `REDIS_URL` says it is. */
  readonly kind: RedisTarget['kind'];
  /** The fields of INFO. */
  readonly info: RedisInfo | null;
  /** The setting `save`: when Redis writes a snapshot to disk. */
  readonly save: string | null;
  /** By how much this machine's clock is at least ahead of that of Redis (ms; negative where it is behind). */
  readonly clockLeadMs: number | null;
  readonly refusals: readonly Refusal[];
}

interface Subject {
  readonly target: RedisTarget;
  /** Of each master that can be reached. */
  readonly masters: readonly RedisFacts[];
  /** What is wrong on the way to the masters. */
  readonly remarks: readonly Result[];
}

export const redisChecks: readonly Check<Subject>[] = [
  { id: 'redis-reachable', title: 'Redis', run: checkReachable },
  { id: 'redis-encryption', title: 'Redis: encryption', run: checkEncryption },
  { id: 'redis-password', title: 'Redis: password', run: checkPassword },
  { id: 'redis-role', title: 'Redis: role', run: onEachMaster(checkRole) },
  {
    id: 'redis-commands',
    title: 'Redis: commands',
    run: onEachMaster(({ refusals }) => explainRefusals(refusals)),
  },
  { id: 'redis-eviction', title: 'Redis: eviction', run: onEachMaster(checkEviction) },
  { id: 'redis-persistence', title: 'Redis: persistence', run: onEachMaster(checkPersistence) },
  { id: 'redis-clock', title: 'Redis: clock', run: onEachMaster(checkClock) },
];

/** Checks Redis, and what Cloakroom may do there; with Sentinels or a cluster, each master. `now` is in ms since the epoch. */
export async function checkRedis({ values }: Settings, now: () => number): Promise<Finding[]> {
  const { REDIS_URL: target, REDIS_PREFIX: prefix } = values;
  if (target === undefined || prefix === undefined) {
    const reason = 'REDIS_URL and REDIS_PREFIX must be valid first.';
    return withoutSubject(redisChecks, skipped(reason), reason);
  }
  const topology = await findMasters(target);
  const outcomes = await Promise.all(
    topology.masters.map(async (server) => {
      try {
        return await readFacts(server, target.kind, prefix, now);
      } catch (error) {
        if (!(error instanceof ConnectionError)) throw error;
        return problem(`Redis at ${server.name} ${error.what}.`, error.remedy);
      }
    }),
  );
  const masters = outcomes.filter((outcome) => 'info' in outcome);
  const failures = outcomes.filter((outcome) => 'status' in outcome);
  return runAll(redisChecks, { target, masters, remarks: [...topology.remarks, ...failures] });
}

async function readFacts(
  server: RedisServer,
  kind: RedisTarget['kind'],
  prefix: string,
  now: () => number,
): Promise<RedisFacts> {
  return withConnection(server, async (send) => {
    const info = await send('INFO');
    const save = await send('CONFIG', 'GET', 'save');
    const sentAt = now();
    const time = await send('TIME');
    const receivedAt = now();
    return {
      name: server.name,
      kind,
      info: 'value' in info ? parseInfo(String(info.value)) : null,
      save: 'value' in save ? ((save.value as string[])[1] ?? null) : null,
      clockLeadMs: 'value' in time ? clockLead(time.value as string[], sentAt, receivedAt) : null,
      refusals: await tryCommands(send, prefix),
    };
  });
}

/** `time` is the reply to TIME: seconds and microseconds. The time in transit is not taken for a difference. */
export function clockLead(
  [seconds, microseconds]: readonly string[],
  sentAt: number,
  receivedAt: number,
): number {
  const theirs = Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
  if (sentAt > theirs) return sentAt - theirs;
  return Math.min(0, receivedAt - theirs);
}

/** Runs a check on each master. Where there are several, the result names those that it is about. */
function onEachMaster(check: (facts: RedisFacts) => Result): (subject: Subject) => Result {
  return ({ masters }) => {
    if (masters.length === 0) return skipped('Redis can’t be reached.');
    return worst(
      masters.map((facts) => {
        const result = check(facts);
        return masters.length === 1 ? result : { ...result, detail: `${facts.name}: ${result.detail}` };
      }),
    );
  };
}

function checkReachable({ masters, remarks }: Subject): Result {
  return worst([ok(`It responds at ${masters.map(({ name }) => name).join(', ')}.`), ...remarks]);
}

function checkEncryption({ target }: Subject): Result {
  if (isOnThisHost(target)) return ok('The connection stays on this machine.');
  if (target.kind === 'single' && target.tls) return ok('The connection uses TLS.');
  return warning(
    'It is on another host and without TLS: its password and encrypted sessions can be read on the way.',
    target.kind === 'single'
      ? 'Use rediss:// where Redis supports TLS, or a network that only the two use.'
      : 'Use a network that nobody else can read.',
  );
}

function checkPassword({ target }: Subject): Result {
  if (target.password !== undefined) return ok('REDIS_URL has a password.');
  if (isOnThisHost(target)) return ok('None, on this machine.');
  return warning(
    'It is on another host and requires no password: anyone who reaches it can end all sessions.',
    'Create a user with a password (ACL SETUSER), and put both into REDIS_URL.',
  );
}

function isOnThisHost(target: RedisTarget): boolean {
  if (target.kind === 'socket') return true;
  const nodes =
    target.kind === 'single' ? [target] : target.kind === 'cluster' ? target.nodes : target.sentinels;
  return nodes.every(({ host }) => isLoopback(`redis://${host.includes(':') ? `[${host}]` : host}`));
}

/** A Sentinel or a node of a cluster accepts the connection, and then fails with most keys. */
export function checkRole({ kind, info }: RedisFacts): Result {
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
  if (info.get('role') === 'slave') {
    return problem(
      'It is a replica and takes no writes.',
      'Name the master in REDIS_URL, or the Sentinels or the cluster, which know it.',
    );
  }
  return ok('It is a master and takes writes.');
}

export function checkEviction({ info }: RedisFacts): Result {
  if (info === null) return NEEDS_INFO;
  const policy = info.get('maxmemory_policy') ?? 'unknown';
  if (policy === 'noeviction') return ok('noeviction: it removes no session to make room.');
  const detail = `maxmemory-policy is ${policy}: with its memory full Redis removes sessions, and each is a user signed out.`;
  const remedy = 'Set maxmemory-policy noeviction, and store nothing else there that needs eviction.';
  return Number(info.get('maxmemory') ?? 0) > 0
    ? problem(detail, remedy)
    : warning(`${detail} It has no maxmemory yet.`, remedy);
}

export function checkPersistence({ info, save }: RedisFacts): Result {
  if (info === null) return NEEDS_INFO;
  if (info.get('aof_enabled') === '1') return ok('It appends every write to a file (appendonly).');
  if (save === null) {
    return skipped(
      'It has no append-only file, and its user may not read whether it writes snapshots.',
      'To have that checked: ACL SETUSER <user> +config|get. Cloakroom itself does not need it.',
    );
  }
  if (save !== '') {
    return ok(
      'It writes snapshots: a crash loses the sessions since the last one (appendonly yes keeps them).',
    );
  }
  return warning(
    'It stores nothing on disk: when it restarts, everybody is signed out.',
    'Set appendonly yes, on a disk that outlives the restart.',
  );
}

const MAX_CLOCK_LEAD_MS = 5_000;

function checkClock({ clockLeadMs: lead }: RedisFacts): Result {
  if (lead === null) {
    return skipped(
      'Its user may not run TIME.',
      'To have it checked: ACL SETUSER <user> +time. Cloakroom itself does not need it.',
    );
  }
  if (Math.abs(lead) <= MAX_CLOCK_LEAD_MS) return ok('It agrees with the clock of this machine.');
  const seconds = Math.round(Math.abs(lead) / 1_000);
  return warning(
    `The clock of this machine is ${seconds} s ${lead < 0 ? 'behind' : 'ahead of'} that of Redis. One decides how long a session lasts at most, the other how long it lasts without use.`,
    'Synchronise the clocks of all machines by NTP.',
  );
}

const NEEDS_INFO = skipped('Its user may not run INFO.', 'To have it checked: ACL SETUSER <user> +info');
