import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { checkConfiguration, readSettings } from '../../../../src/cli/doctor/configuration.ts';
import { validEnv } from '../../../support/doctor/doctor.ts';

/** Returns the findings for a valid environment with these changes. */
function check(changes: Record<string, string>, ignoresDotEnv = false) {
  return checkConfiguration(readSettings({ ...validEnv, ...changes }), ignoresDotEnv);
}

function finding(id: string, changes: Record<string, string>) {
  return check(changes).find((each) => each.id === id);
}

test('each invalid variable results in a separate finding, and the checks that need it are skipped', () => {
  const findings = check({
    PORT: 'http',
    SESSION_KEYS: 'short',
    SESSION_KEYS_FILE: '/nowhere',
    TRUST_PROXY: 'yes',
  });
  const statuses = Object.fromEntries(findings.map(({ id, status }) => [id, status]));
  expect(statuses).toMatchObject({
    'variable:PORT': 'problem',
    'variable:SESSION_KEYS': 'problem',
    'variable:TRUST_PROXY': 'problem',
    'session-keys': 'skipped',
    proxies: 'skipped',
    'secret-files': 'ok',
  });
  expect(statuses['variables']).toBeUndefined();
});

test('valid variables result in a single finding', () => {
  expect(finding('variables', {})?.status).toBe('ok');
});

test('the remedy for a missing variable mentions that Cloakroom does not read .env in production', () => {
  const remedies = check({ CLIENT_ID: '', PORT: 'http' }, true).map(({ id, remedy }) => [id, remedy]);
  expect(Object.fromEntries(remedies)).toMatchObject({
    'variable:CLIENT_ID': expect.stringContaining('does not read the .env'),
    'variable:PORT': expect.not.stringContaining('does not read the .env'),
  });
});

const toKey = (bytes: Iterable<number>) => Buffer.from([...bytes]).toString('base64url');
const sequence = Array.from({ length: 32 }, (_, at) => at);

test.each([
  ['a sequence', toKey(sequence)],
  ['a descending sequence in steps of three', toKey(sequence.map((at) => 255 - 3 * at))],
  ['a single repeated byte', toKey(sequence.map(() => 7))],
  ['a passphrase', Buffer.from('correct horse battery staple 123').toString('base64url')],
  ['a string of hexadecimal digits', Buffer.from(randomBytes(16).toString('hex')).toString('base64url')],
  ['four copies of eight bytes', toKey(sequence.map((at) => (at % 8) * 31))],
])('a session key that is %s is a problem', (_, weak) => {
  const { status, detail } =
    finding('session-keys', { SESSION_KEYS: `${validEnv.SESSION_KEYS},${weak}` }) ?? {};
  expect(status).toBe('problem');
  expect(detail).toMatch(/not random \(key 2\)\./);
});

test('random session keys pass the check', () => {
  const keys = Array.from({ length: 8 }, () => randomBytes(32).toString('base64url')).join(',');
  expect(finding('session-keys', { SESSION_KEYS: keys })?.status).toBe('ok');
});

test.each([
  [0o400, 'ok'],
  [0o440, 'ok'],
  [0o444, 'warning'],
  [0o660, 'warning'],
])('the finding for a secret file with mode %o is %s', async (mode, status) => {
  const folder = await mkdtemp(join(tmpdir(), 'cloakroom-secrets-'));
  const path = join(folder, 'secret');
  await writeFile(path, 'a secret');
  await chmod(path, mode);
  const found = finding('secret-files', { CLIENT_SECRET: '', CLIENT_SECRET_FILE: path });
  expect(found?.status).toBe(status);
  expect(found?.detail).toContain('CLIENT_SECRET_FILE');
  expect(found?.detail).not.toContain(path);
  await rm(folder, { recursive: true });
});

test.each([
  ['mode', { NODE_ENV: 'production' }, 'ok'],
  ['mode', { NODE_ENV: 'development' }, 'ok'],
  ['mode', { NODE_ENV: 'development', PUBLIC_URL: 'https://app.example.com' }, 'warning'],
  ['mode', { NODE_ENV: 'prod' }, 'warning'],
  ['proxies', { PUBLIC_URL: 'https://app.example.com' }, 'warning'],
  ['proxies', { PUBLIC_URL: 'https://app.example.com', TRUST_PROXY: '1' }, 'ok'],
  ['proxies', { PUBLIC_URL: 'http://localhost:3000' }, 'ok'],
  ['redis-encryption', { REDIS_URL: 'redis://[::1]' }, 'ok'],
  ['redis-encryption', { REDIS_URL: 'redis://:a-password@redis.invalid' }, 'warning'],
  ['redis-encryption', { REDIS_URL: 'rediss://redis.invalid' }, 'ok'],
  ['redis-encryption', { REDIS_URL: 'redis+cluster://localhost,redis.invalid' }, 'warning'],
  ['redis-password', { REDIS_URL: 'redis+unix:///redis.sock' }, 'ok'],
  ['redis-password', { REDIS_URL: 'rediss://redis.invalid' }, 'warning'],
  ['redis-password', { REDIS_URL: 'redis+sentinel://:a-password@redis.invalid/master' }, 'ok'],
] as const)('the result of the check %s for %j is %s', (id, changes, status) => {
  expect(finding(id, changes)?.status).toBe(status);
});
