import { isLoopback } from '../../config/schema.ts';
import type { RedisTarget } from '../../config/redis-url.ts';
import { redisChecks } from './checks.ts';
import type { RedisCheck } from './checks.ts';
import { Failure } from './network-errors.ts';
import type { Settings } from './settings.ts';
import { ok, problem, skipped, verdictForAll, warning, worst } from './finding.ts';
import type { Verdict } from './finding.ts';
import { askCluster } from './redis/cluster.ts';
import { examine } from './redis/examination.ts';
import type { Examination } from './redis/examination.ts';
import { judgeCommands, judgeLimitCommands } from './redis/judge-commands.ts';
import { judgeEviction, judgeMemory, judgePersistence } from './redis/judge-data.ts';
import { judgeClients, judgeInfo, judgeMode, judgeRole, judgeVersion } from './redis/judge-server.ts';
import { judgeLatency, judgeRedisClock } from './redis/judge-timing.ts';
import { toPlace } from './redis/place.ts';
import type { Place } from './redis/place.ts';
import { askSentinels } from './redis-topology.ts';
import type { Survey } from './redis/survey.ts';

/** Redis, as it is and as we may use it; behind Sentinels and in a cluster each master. `now` is in ms since the epoch. */
export async function checkRedis(
  { values }: Settings,
  now: () => number,
): Promise<Record<RedisCheck, Verdict>> {
  const { REDIS_URL: target, REDIS_PREFIX: prefix } = values;
  if (target === undefined || prefix === undefined) {
    return verdictForAll(redisChecks, skipped('REDIS_URL and REDIS_PREFIX must be right first.'));
  }
  const { masters, remarks } = await findMasters(target);
  const outcomes = await Promise.all(masters.map(async (place) => examineOrSay(place, prefix, now)));
  const examinations = outcomes.flatMap((outcome) => ('info' in outcome ? [outcome] : []));
  const failures = outcomes.flatMap((outcome) => ('status' in outcome ? [outcome] : []));
  const judge = (by: (examination: Examination) => Verdict) => byEach(examinations, by);
  return {
    'redis-reachable': worst([reached(examinations), ...remarks, ...failures]),
    'redis-encryption': judgeEncryption(target),
    'redis-password': judgePassword(target),
    'redis-info': judge(judgeInfo),
    'redis-version': judge(judgeVersion),
    'redis-role': judge((each) => worst([judgeRole(each), judgeMode(each, target.kind)])),
    'redis-commands': judge(({ refusals }) => judgeCommands(refusals)),
    'redis-sign-in-limit': judge(({ refusals }) => judgeLimitCommands(refusals)),
    'redis-eviction': judge(judgeEviction),
    'redis-memory': judge(judgeMemory),
    'redis-persistence': judge(judgePersistence),
    'redis-clients': judge(judgeClients),
    'redis-latency': judge(judgeLatency),
    'redis-clock': judge(judgeRedisClock),
  };
}

/** The masters, found as Cloakroom finds them. */
async function findMasters(target: RedisTarget): Promise<Survey> {
  switch (target.kind) {
    case 'sentinel':
      return askSentinels(target);
    case 'cluster':
      return askCluster(target);
    case 'single':
    case 'socket':
      return { masters: [toPlace(target, target, target.db)], remarks: [] };
  }
}

async function examineOrSay(place: Place, prefix: string, now: () => number): Promise<Examination | Verdict> {
  try {
    return await examine(place, prefix, now);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return problem(`Redis at ${place.name} ${error.what}.`, error.remedy);
  }
}

/** The worst of all; where there are several, with the names of those that it is about. */
function byEach(examinations: readonly Examination[], by: (each: Examination) => Verdict): Verdict {
  if (examinations.length === 0) return skipped('Redis can’t be asked.');
  if (examinations.length === 1) return worst(examinations.map(by));
  return worst(
    examinations.map((each) => {
      const { status, detail, remedy } = by(each);
      return { status, detail: `${each.name}: ${detail}`, remedy };
    }),
  );
}

function reached(examinations: readonly Examination[]): Verdict {
  return ok(`Answers at ${examinations.map(({ name }) => name).join(', ')}.`);
}

/** Hosts of REDIS_URL that are not this one. */
function isElsewhere(target: RedisTarget): boolean {
  if (target.kind === 'socket') return false;
  const nodes =
    target.kind === 'single' ? [target] : target.kind === 'cluster' ? target.nodes : target.sentinels;
  return nodes.some(({ host }) => !isLoopback(`redis://${host.includes(':') ? `[${host}]` : host}`));
}

function judgeEncryption(target: RedisTarget): Verdict {
  if (!isElsewhere(target)) return ok('What is said to it stays on this machine.');
  if (target.kind === 'single' && target.tls) return ok('What is said to it is encrypted (TLS).');
  return warning(
    'It is on another host, and what is said to it can be read on the way: its password, and encrypted sessions.',
    target.kind === 'single'
      ? 'Use rediss:// where Redis speaks TLS, or a network that carries nothing but the two.'
      : 'Keep it in a network that nobody else can listen in.',
  );
}

function judgePassword(target: RedisTarget): Verdict {
  if (!isElsewhere(target) || target.password !== undefined) {
    return ok(target.password === undefined ? 'None, on this machine.' : 'It is sent one.');
  }
  return warning(
    'It is on another host and asks for no password: whoever reaches it can end all sessions.',
    'Give it a user with a password (ACL SETUSER), and put both into REDIS_URL.',
  );
}
