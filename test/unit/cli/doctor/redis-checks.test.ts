import { expect, test } from '@jest/globals';
import {
  checkEviction,
  checkPersistence,
  checkRole,
  clockLead,
  type RedisFacts,
} from '../../../../src/cli/doctor/redis-checks.ts';
import { parseInfo } from '../../../../src/redis/info.ts';
import { explainRefusals } from '../../../../src/cli/doctor/redis-commands.ts';

function facts(info: Record<string, string> | null, more: Partial<RedisFacts> = {}): RedisFacts {
  const lines = Object.entries(info ?? {}).map(([field, value]) => `${field}:${value}`);
  return {
    name: 'a-redis:6379',
    kind: 'single',
    info: info && parseInfo(['# Server', ...lines, ''].join('\r\n')),
    save: null,
    clockLeadMs: null,
    refusals: [],
    ...more,
  };
}

test('without INFO the checks that need it are skipped, with the right to give', () => {
  for (const check of [checkRole, checkEviction, checkPersistence]) {
    expect(check(facts(null))).toMatchObject({ status: 'skipped', remedy: expect.stringContaining('+info') });
  }
});

test.each([
  [{ maxmemory_policy: 'noeviction', maxmemory: '1000' }, 'ok'],
  [{ maxmemory_policy: 'allkeys-lru', maxmemory: '0' }, 'warning'],
  [{ maxmemory_policy: 'volatile-ttl', maxmemory: '1000' }, 'problem'],
])('eviction of %j: %s', (info, status) => {
  expect(checkEviction(facts(info)).status).toBe(status);
});

test.each([
  [{ aof_enabled: '1' }, '', 'ok'],
  [{ aof_enabled: '0' }, '3600 1', 'ok'],
  [{ aof_enabled: '0' }, '', 'warning'],
  [{ aof_enabled: '0' }, null, 'skipped'],
])('persistence of %j with save %j: %s', (info, save, status) => {
  expect(checkPersistence(facts(info, { save })).status).toBe(status);
});

test.each([
  ['single', { role: 'master', redis_mode: 'standalone' }, 'ok'],
  ['single', { role: 'slave', redis_mode: 'standalone' }, 'problem'],
  ['single', { redis_mode: 'sentinel' }, 'problem'],
  ['single', { role: 'master', redis_mode: 'cluster' }, 'problem'],
  ['cluster', { role: 'master', redis_mode: 'cluster' }, 'ok'],
] as const)('REDIS_URL of kind %s and %j: %s', (kind, info, status) => {
  expect(checkRole(facts(info, { kind })).status).toBe(status);
});

const TIME = ['1000000000', '500000'];
const NOW = 1_000_000_000_500;

test.each([
  [NOW + 6_000, NOW + 6_010, 6_000],
  [NOW - 6_010, NOW - 6_000, -6_000],
  [NOW - 20_000, NOW + 10, 0], // a slow reply
])('a TIME that was sent at %d and received at %d: %d ms ahead', (sentAt, receivedAt, lead) => {
  expect(clockLead(TIME, sentAt, receivedAt)).toBe(lead);
});

test.each([
  ["NOPERM this user has no permissions to run the 'getex' command", 'may not run GETEX'],
  [
    'NOPERM this user has no permissions to access one of the keys used as arguments',
    'keys that begin with REDIS_PREFIX',
  ],
  ['NOPERM No permissions to access a key', 'keys that begin with REDIS_PREFIX'],
  ["ERR unknown command 'GETEX', with args beginning with:", 'does not know GETEX'],
  ["READONLY You can't write against a read only replica.", 'replica'],
  ["OOM command not allowed when used memory > 'maxmemory'.", 'full'],
  ['MISCONF Redis is configured to save RDB snapshots', 'MISCONF'],
  ['NOREPLICAS Not enough good replicas to write.', 'too few replicas'],
  ['ERR something else', 'refuses GETEX'],
])('a command that Redis refuses with “%s” is a problem', (message, words) => {
  const { status, detail } = explainRefusals([['GETEX', message]]);
  expect(status).toBe('problem');
  expect(detail).toContain(words);
});
