import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import {
  LOAD_BALANCER_TIMEOUT_SECONDS,
  checkConfiguration,
  readSettings,
} from '../../../../src/cli/doctor/configuration.ts';
import { validEnv } from '../../../support/doctor/doctor.ts';

/** The findings about a valid environment with changes. */
function check(changes: Record<string, string>, ignoresDotEnv = false) {
  return checkConfiguration(readSettings({ ...validEnv, ...changes }), ignoresDotEnv);
}

function finding(id: string, changes: Record<string, string>) {
  return check(changes).find((each) => each.id === id);
}

test('each variable with a problem is a finding, and the checks that need it are skipped', () => {
  const findings = check({
    PORT: 'http',
    SESSION_KEYS: 'short',
    SESSION_KEYS_FILE: '/nowhere',
    SHUTDOWN_SECONDS: 'soon',
  });
  const statuses = Object.fromEntries(findings.map(({ id, status }) => [id, status]));
  expect(statuses).toMatchObject({
    'variable:PORT': 'problem',
    'variable:SESSION_KEYS': 'problem',
    'variable:SHUTDOWN_SECONDS': 'problem',
    'session-keys': 'skipped',
    'shutdown-time': 'skipped',
    proxies: 'ok',
  });
  expect(statuses['variables']).toBeUndefined();
});

test('valid variables are one finding', () => {
  expect(finding('variables', {})?.status).toBe('ok');
});

test('a missing variable names the .env that production does not read', () => {
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
  ['a sequence downwards in threes', toKey(sequence.map((at) => 255 - 3 * at))],
  ['one byte repeated', toKey(sequence.map(() => 7))],
  ['a pass phrase', Buffer.from('correct horse battery staple 123').toString('base64url')],
  ['hexadecimal digits', Buffer.from(randomBytes(16).toString('hex')).toString('base64url')],
  ['eight bytes four times', toKey(sequence.map((at) => (at % 8) * 31))],
])('a session key that is %s is a problem', (_, weak) => {
  const { status, detail } =
    finding('session-keys', { SESSION_KEYS: `${validEnv.SESSION_KEYS},${weak}` }) ?? {};
  expect(status).toBe('problem');
  expect(detail).toMatch(/^Key 2 /);
});

test('random session keys pass', () => {
  const keys = Array.from({ length: 8 }, () => randomBytes(32).toString('base64url')).join(',');
  expect(finding('session-keys', { SESSION_KEYS: keys })?.status).toBe('ok');
});

test.each([
  [0o400, 'ok'],
  [0o440, 'ok'],
  [0o444, 'warning'],
  [0o660, 'warning'],
])('a secret in a file of mode %o: %s', async (mode, status) => {
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
  ['load-balancer-times', {}, 'ok'],
  ['load-balancer-times', { SERVICE_TIMEOUT_SECONDS: '60' }, 'warning'],
  ['load-balancer-times', { CLIENT_IDLE_SECONDS: '60', TRUST_PROXY: '1' }, 'warning'],
  ['load-balancer-times', { CLIENT_IDLE_SECONDS: '60' }, 'ok'],
  ['shutdown-time', { SHUTDOWN_SECONDS: '27' }, 'ok'],
  ['shutdown-time', { SHUTDOWN_SECONDS: '28' }, 'warning'],
  ['shutdown-time', { SHUTDOWN_SECONDS: '5', TOKEN_TIMEOUT_SECONDS: '30' }, 'warning'],
  ['metrics', {}, 'ok'],
  ['metrics', { METRICS_PORT: '9090' }, 'ok'],
  ['metrics', { METRICS_PORT: '9090', HOST: '::1' }, 'ok'],
  ['metrics', { METRICS_PORT: '9090', HOST: '0.0.0.0' }, 'warning'],
] as const)('%s of %j: %s', (id, changes, status) => {
  expect(finding(id, changes)?.status).toBe(status);
});

test('the timeout of load balancers is that of deploy/haproxy.cfg', async () => {
  const config = await readFile(new URL('../../../../deploy/haproxy.cfg', import.meta.url), 'utf8');
  const timeouts = [...config.matchAll(/^\s*timeout (?:client|server) +(\d+)s$/gm)].map(([, each]) =>
    Number(each),
  );
  expect(timeouts).toEqual([LOAD_BALANCER_TIMEOUT_SECONDS, LOAD_BALANCER_TIMEOUT_SECONDS]);
});
