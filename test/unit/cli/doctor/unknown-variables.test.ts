import { expect, test } from '@jest/globals';
import { checkUnknownVariables } from '../../../../src/cli/doctor/unknown-variables.ts';
import { validEnv } from '../../../support/doctor/doctor.ts';

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
])('%s is reported as a misspelling of %s', (name, meant) => {
  expect(checkUnknownVariables({ [name]: 'a value' })).toMatchObject({
    status: 'warning',
    detail: `Cloakroom does not read ${name} (did you mean ${meant}?).`,
  });
});

const FOREIGN = `
  PATH HOME HOSTNAME HOSTS PORTS PWD LANG TERM SHLVL EDITOR TMPDIR USER NODE_ENV NODE_OPTIONS NODE_VERSION NODE_EXTRA_CA_CERTS
  npm_config_cache npm_lifecycle_event KUBERNETES_SERVICE_HOST KUBERNETES_SERVICE_PORT REDIS_PORT REDIS_SERVICE_HOST REDIS_HOST
  HTTP_PROXY HTTPS_PROXY NO_PROXY CLOAKROOM_1 LOCAL_SERVICE_PORT LOCAL_SERVICE_SCOPES APP_PATH SERVICE_NAME PUBLIC_KEY SESSION_ID
  CLIENT_NAME DATABASE_URL MAX_MEMORY`;

test('common variables for other programs do not cause a warning', () => {
  const names = FOREIGN.trim().split(/\s+/);
  const env = { ...validEnv, ...Object.fromEntries(names.map((name) => [name, 'a value'])) };
  expect(checkUnknownVariables(env)).toMatchObject({ status: 'ok' });
});

test('a misspelled name does not cause a warning if the correct variable has the same value', () => {
  const env = { ...validEnv, REDIS_URI: validEnv.REDIS_URL };
  expect(checkUnknownVariables(env)).toMatchObject({ status: 'ok' });
});

test('a _FILE variable causes a warning if the variable itself cannot be read from a file', () => {
  expect(checkUnknownVariables({ CLIENT_ID_FILE: '/run/secrets/id' }).detail).toBe(
    'Cloakroom does not read CLIENT_ID_FILE (CLIENT_ID is not read from a file).',
  );
});
