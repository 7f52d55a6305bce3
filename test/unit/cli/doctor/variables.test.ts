import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { checkFileModes } from '../../../../src/cli/doctor/configuration/file-modes.ts';
import { checkUnknownVariables } from '../../../../src/cli/doctor/unknown-variables.ts';
import { checkVariables } from '../../../../src/cli/doctor/configuration/variables.ts';
import { readSettings } from '../../../../src/cli/doctor/settings.ts';
import { examined, soundEnv } from '../../../support/doctor/doctor.ts';

test('each variable with a problem is a finding of its own, all at once', () => {
  const env = { ...soundEnv, PORT: 'http', SCOPES: '', SESSION_KEYS: 'short', SESSION_KEYS_FILE: '/nowhere' };
  const findings = checkVariables(readSettings(env), false);
  expect(findings.map(({ id, status }) => [id, status])).toEqual([
    ['variable:PORT', 'problem'],
    ['variable:SCOPES', 'problem'],
    ['variable:SESSION_KEYS', 'problem'],
  ]);
});

test('variables in order are one finding', () => {
  expect(checkVariables(readSettings(soundEnv), false)).toEqual([
    expect.objectContaining({ id: 'variables', status: 'ok' }),
  ]);
});

test('a .env that production does not read is one finding, with all that is missing', () => {
  const env = { ...soundEnv, PUBLIC_URL: '', CLIENT_ID: '', PORT: 'http' };
  const findings = checkVariables(readSettings(env), true);
  expect(findings.map(({ id }) => id)).toEqual(['dot-env', 'variable:PORT']);
  expect(findings[0]?.detail).toBe(
    'The .env in this folder is not read in production, and nothing else sets CLIENT_ID, PUBLIC_URL.',
  );
});

test('a .env that production does not read is no matter where nothing is missing', () => {
  const findings = checkVariables(readSettings({ ...soundEnv, PORT: 'http' }), true);
  expect(findings.map(({ id }) => id)).toEqual(['variable:PORT']);
});

test('what needs a variable with a problem is skipped, and the rest goes on', async () => {
  const said = await examined({ REDIS_URL: 'http://a.example', SERVICE_URL: 'http://a.example' });
  expect(said('redis-reachable').status).toBe('skipped');
  expect(said('service-reachable').status).toBe('skipped');
  expect(said('session-keys').status).toBe('ok');
});

test.each([
  ['SESION_KEYS', 'SESSION_KEYS'],
  ['SESSION_KEY', 'SESSION_KEYS'],
  ['SESSION_KYES', 'SESSION_KEYS'],
  ['session_keys', 'SESSION_KEYS'],
  ['SESSION_KEY_FILE', 'SESSION_KEYS_FILE'],
  ['REDIS_URI', 'REDIS_URL'],
  ['LOGLEVEL', 'LOG_LEVEL'],
  ['SCOPE', 'SCOPES'],
  ['CLOAKROOM_PORT', 'PORT'],
  ['CLOAKROOM_SESSION_KEYS', 'SESSION_KEYS'],
])('%s is taken for %s', (name, meant) => {
  expect(checkUnknownVariables({ [name]: 'a value' })).toMatchObject({
    status: 'warning',
    detail: `Nobody reads ${name} (was ${meant} meant?).`,
  });
});

test('what stands in a usual environment is not taken for ours', () => {
  const names = [
    ...[
      'PATH',
      'HOME',
      'HOSTNAME',
      'HOSTS',
      'PORTS',
      'PWD',
      'LANG',
      'TERM',
      'SHLVL',
      'EDITOR',
      'TMPDIR',
      'USER',
    ],
    ...[
      'NODE_ENV',
      'NODE_OPTIONS',
      'NODE_VERSION',
      'NODE_EXTRA_CA_CERTS',
      'npm_config_cache',
      'npm_lifecycle_event',
    ],
    ...[
      'KUBERNETES_SERVICE_HOST',
      'KUBERNETES_SERVICE_PORT',
      'REDIS_PORT',
      'REDIS_SERVICE_HOST',
      'REDIS_HOST',
    ],
    ...['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'CLOAKROOM_1', 'LOCAL_SERVICE_PORT', 'LOCAL_SERVICE_SCOPES'],
    ...['APP_PATH', 'SERVICE_NAME', 'PUBLIC_KEY', 'SESSION_ID', 'CLIENT_NAME', 'DATABASE_URL', 'MAX_MEMORY'],
  ];
  const env = { ...soundEnv, ...Object.fromEntries(names.map((name) => [name, 'a value'])) };
  expect(checkUnknownVariables(env)).toMatchObject({ status: 'ok' });
});

test('a platform that sets the same under a second name gets no warning', () => {
  expect(checkUnknownVariables({ ...soundEnv, REDIS_URI: soundEnv.REDIS_URL })).toMatchObject({
    status: 'ok',
  });
});

test('a file for a variable that takes none is told', () => {
  const { detail } = checkUnknownVariables({ CLIENT_ID_FILE: '/run/secrets/id' });
  expect(detail).toBe('Nobody reads CLIENT_ID_FILE (CLIENT_ID is not read from a file).');
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
  const verdict = checkFileModes({ CLIENT_SECRET_FILE: path });
  expect(verdict.status).toBe(status);
  expect(verdict.detail).toContain('CLIENT_SECRET_FILE');
  expect(verdict.detail).not.toContain(path);
  await rm(folder, { recursive: true });
});
