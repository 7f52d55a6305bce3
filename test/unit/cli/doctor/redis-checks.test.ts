import { expect, test } from '@jest/globals';
import type { Refusal } from '../../../../src/cli/doctor/redis-commands.ts';
import type { Examination } from '../../../../src/cli/doctor/redis/examination.ts';
import { parseInfo } from '../../../../src/cli/doctor/redis/info.ts';
import { judgeCommands, judgeLimitCommands } from '../../../../src/cli/doctor/redis/judge-commands.ts';
import { judgeEviction, judgeMemory, judgePersistence } from '../../../../src/cli/doctor/redis/judge-data.ts';
import {
  judgeClients,
  judgeMode,
  judgeRole,
  judgeVersion,
} from '../../../../src/cli/doctor/redis/judge-server.ts';
import { judgeLatency, judgeRedisClock } from '../../../../src/cli/doctor/redis/judge-timing.ts';

function examination(info: Record<string, string>, more: Partial<Examination> = {}): Examination {
  const lines = Object.entries(info).map(([field, value]) => `${field}:${value}`);
  return {
    name: 'a-redis:6379',
    info: parseInfo(['# Server', ...lines, ''].join('\r\n')),
    isInfoForbidden: false,
    save: null,
    clock: null,
    pings: [],
    refusals: [],
    ...more,
  };
}

test.each([
  ['5.0.14', 'problem'],
  ['6.0.16', 'problem'],
  ['6.2.0', 'ok'],
  ['7.0.15', 'ok'],
  ['10.1.0', 'ok'],
])('Redis %s: %s', (version, status) => {
  expect(judgeVersion(examination({ redis_version: version })).status).toBe(status);
});

test('without INFO what rests on it is skipped', () => {
  const untold = examination({}, { info: null });
  const judges = [judgeVersion, judgeRole, judgeEviction, judgeMemory, judgePersistence, judgeClients];
  expect(judges.map((judge) => judge(untold).status)).toEqual(judges.map(() => 'skipped'));
});

test.each([
  [{ maxmemory_policy: 'noeviction', maxmemory: '0', evicted_keys: '0' }, 'ok'],
  [{ maxmemory_policy: 'noeviction', maxmemory: '1000', evicted_keys: '3' }, 'warning'],
  [{ maxmemory_policy: 'allkeys-lru', maxmemory: '0', evicted_keys: '0' }, 'warning'],
  [{ maxmemory_policy: 'volatile-ttl', maxmemory: '1000', evicted_keys: '0' }, 'problem'],
])('eviction of %j: %s', (info, status) => {
  expect(judgeEviction(examination(info)).status).toBe(status);
});

test.each([
  [{ maxmemory: '0', used_memory: '900000' }, 'ok'],
  [{ maxmemory: '1000000', used_memory: '900000' }, 'ok'],
  [{ maxmemory: '1000000', used_memory: '900001' }, 'warning'],
  [{ maxmemory: '1000000', used_memory: '1000000' }, 'problem'],
  [{ maxmemory: '1000000', used_memory: '1000000', mem_not_counted_for_evict: '200000' }, 'ok'],
])('memory of %j: %s', (info, status) => {
  expect(judgeMemory(examination(info)).status).toBe(status);
});

test.each([
  [{ aof_enabled: '1' }, '', 'ok'],
  [{ aof_enabled: '0' }, '3600 1', 'ok'],
  [{ aof_enabled: '0' }, '', 'warning'],
  [{ aof_enabled: '0' }, null, 'skipped'],
  [{ aof_enabled: '1', aof_last_write_status: 'err' }, '', 'problem'],
  [{ aof_enabled: '0', rdb_last_bgsave_status: 'err' }, '3600 1', 'problem'],
])('persistence of %j with save %j: %s', (info, save, status) => {
  expect(judgePersistence(examination(info, { save })).status).toBe(status);
});

test.each([
  [{ connected_clients: '800', maxclients: '1000' }, 'ok'],
  [{ connected_clients: '801', maxclients: '1000' }, 'warning'],
  [{ connected_clients: '801' }, 'ok'],
])('clients of %j: %s', (info, status) => {
  expect(judgeClients(examination(info)).status).toBe(status);
});

test('a replica, a Sentinel, and one node of a cluster are no Redis for sessions', () => {
  expect(judgeRole(examination({ role: 'master', redis_mode: 'standalone' })).status).toBe('ok');
  expect(judgeRole(examination({ role: 'slave', redis_mode: 'standalone' })).status).toBe('problem');
  expect(judgeRole(examination({ redis_mode: 'sentinel' })).status).toBe('problem');
  expect(judgeMode(examination({ redis_mode: 'cluster' }), 'single').status).toBe('problem');
  expect(judgeMode(examination({ redis_mode: 'cluster' }), 'cluster').status).toBe('ok');
});

test.each([
  [[1, 1, 900, 2, 1], 'ok'],
  [[9, 30, 30, 30, 9], 'warning'],
  [[300, 300, 300], 'problem'],
])('round trips of %j ms: %s', (pings, status) => {
  expect(judgeLatency(examination({}, { pings })).status).toBe(status);
});

test.each([
  [0, 'ok'],
  [4_000, 'ok'],
  [-4_000, 'ok'],
  [6_000, 'warning'],
  [-6_000, 'warning'],
])('a clock %d ms ahead of that of Redis: %s', (ahead, status) => {
  const theirs = 1_000_000_000_000;
  const clock = { theirs, exactToMs: 1, askedAt: theirs + ahead - 10, toldAt: theirs + ahead + 10 };
  expect(judgeRedisClock(examination({}, { clock })).status).toBe(status);
});

test('the time that an answer takes is not taken for a clock that is off', () => {
  const theirs = 1_000_000_000_000;
  const clock = { theirs, exactToMs: 1, askedAt: theirs - 20_000, toldAt: theirs + 10 };
  expect(judgeRedisClock(examination({}, { clock })).status).toBe('ok');
});

test.each([
  ['right', 'GETEX'],
  ['key', 'keys that begin with REDIS_PREFIX'],
  ['unknown', '6.2'],
  ['replica', 'replica'],
  ['full', 'full'],
  ['disk', 'MISCONF'],
  ['replicas', 'too few replicas'],
  ['other', 'GETEX'],
] as const)('a command that is refused by reason “%s” is a problem', (reason, words) => {
  const refusals: Refusal[] = [{ command: 'GETEX', reason }];
  const { status, detail, remedy } = judgeCommands(refusals);
  expect(status).toBe('problem');
  expect(`${detail} ${remedy}`).toContain(words);
});

test('what only the limit of sign-ins needs is a warning', () => {
  const refusals: Refusal[] = [{ command: 'INCR', reason: 'right' }];
  expect(judgeCommands(refusals).status).toBe('ok');
  expect(judgeLimitCommands(refusals)).toMatchObject({
    status: 'warning',
    remedy: expect.stringContaining('+incr'),
  });
});
