import { expect, test } from '@jest/globals';
import { checkEviction, checkPersistence, checkRole } from '../../../../src/cli/doctor/redis-checks.ts';
import { explainRefusals } from '../../../../src/cli/doctor/redis-commands.ts';

function toMaster(info: Record<string, string>, kind: 'single' | 'cluster' = 'single') {
  return { kind, info: new Map(Object.entries(info)) };
}

test('checks that need INFO are skipped if the user can’t run it, and the findings name the missing permission', () => {
  for (const check of [checkRole, checkEviction, checkPersistence]) {
    const result = check({ kind: 'single', info: null });
    expect(result).toMatchObject({ status: 'skipped', remedy: expect.stringContaining('+info') });
  }
});

test.each([
  [{ maxmemory_policy: 'noeviction', maxmemory: '1000' }, 'ok'],
  [{ maxmemory_policy: 'allkeys-lru', maxmemory: '0' }, 'warning'],
  [{ maxmemory_policy: 'volatile-ttl', maxmemory: '1000' }, 'problem'],
])('the result of the eviction check for Redis with %j is %s', (info, status) => {
  expect(checkEviction(toMaster(info)).status).toBe(status);
});

test.each([
  [
    'NOPERM this user has no permissions to access one of the keys used as arguments',
    'keys that begin with REDIS_PREFIX',
  ],
  ['NOPERM No permissions to access a key', 'keys that begin with REDIS_PREFIX'],
  ["ERR unknown command 'GETEX', with args beginning with:", 'does not support GETEX'],
  ['MISCONF Redis is configured to save RDB snapshots', 'can’t save to disk'],
  ['NOREPLICAS Not enough good replicas to write.', 'too few replicas'],
  ['ERR something else', 'refuses GETEX'],
])('a command that Redis refuses with “%s” is a problem', (message, words) => {
  const { status, detail } = explainRefusals([['GETEX', message]]);
  expect(status).toBe('problem');
  expect(detail).toContain(words);
});
