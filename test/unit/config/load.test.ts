import { expect, test } from '@jest/globals';
import { readBuild } from '../../../src/config/build-info.ts';
import { loadConfig, variableNames, withPort, type Config } from '../../../src/config/load.ts';
import { ConfigError } from '../../../src/config/env.ts';
import { parseRedisUrl } from '../../../src/config/redis-url.ts';
import { packageVersion } from '../../support/package-version.ts';
import { minimalEnv, problemsOf } from './minimal-env.ts';

/** Each row: variable, `Config` field, value in the minimal configuration (usually the default), example, and parsed example. */
const VARIABLES: [string, keyof Config, unknown, string, unknown][] = [
  ['PUBLIC_URL', 'publicOrigin', 'http://localhost:3000', 'https://App.test:443/', 'https://app.test'],
  ['HOST', 'host', '127.0.0.1', '::', '::'],
  ['PORT', 'port', 3000, '8080', 8080],
  ['SERVICE_URL', 'serviceOrigin', minimalEnv.SERVICE_URL, 'https://a.test:8000', 'https://a.test:8000'],
  ['ALLOW_INSECURE_SERVICE', 'allowInsecureService', false, 'true', true],
  ['CLIENT_ID', 'clientId', minimalEnv.CLIENT_ID, 'id', 'id'],
  ['CLIENT_SECRET', 'clientSecret', minimalEnv.CLIENT_SECRET, 'secret', 'secret'],
  ['SCOPES', 'scopes', minimalEnv.SCOPES, ' Room:Read   room:write ', 'Room:Read room:write'],
  ['REDIS_URL', 'redis', parseRedisUrl(minimalEnv.REDIS_URL), 'redis://h/2', parseRedisUrl('redis://h/2')],
  ['REDIS_PREFIX', 'redisPrefix', 'cloakroom:', 'app/', 'app/'],
  [
    'SESSION_KEYS',
    'sessionKeys',
    [Buffer.alloc(32, 7)],
    `${'A'.repeat(43)}, ${'B'.repeat(42)}A`,
    [Buffer.alloc(32), Buffer.from(`${'B'.repeat(42)}A`, 'base64url')],
  ],
  ['SESSION_IDLE_SECONDS', 'sessionIdleSeconds', 3600, '60', 60],
  ['SESSION_MAX_SECONDS', 'sessionMaxSeconds', 43_200, '30', 30],
  ['COOKIE_SAMESITE', 'cookieSameSite', 'lax', 'strict', 'strict'],
  ['REFRESH_AHEAD_SECONDS', 'refreshAheadSeconds', 60, '0', 0],
  ['SERVICE_TIMEOUT_SECONDS', 'serviceTimeoutSeconds', 30, '5', 5],
  ['TOKEN_TIMEOUT_SECONDS', 'tokenTimeoutSeconds', 10, '6', 6],
  ['SERVICE_CONNECTIONS', 'serviceConnections', 128, '7', 7],
  ['CLIENT_HEAD_SECONDS', 'clientHeadSeconds', 20, '11', 11],
  ['CLIENT_REQUEST_SECONDS', 'clientRequestSeconds', 3600, '12', 12],
  ['CLIENT_IDLE_SECONDS', 'clientIdleSeconds', 75, '13', 13],
  ['CLIENT_LINGER_SECONDS', 'clientLingerSeconds', 30, '14', 14],
  ['API_PATHS', 'apiPaths', ['/api/public/v1/'], '/api/v1, /api/v2/', ['/api/v1/', '/api/v2/']],
  ['MAX_REQUESTS', 'maxRequests', 2048, '9', 9],
  ['MAX_REQUESTS_PER_SESSION', 'maxRequestsPerSession', 512, '10', 10],
  ['MAX_BODY_BYTES', 'maxBodyBytes', 104_857_600, '8', 8],
  ['WORKSPACE_ITEMS', 'workspaceItems', ['rooms', 'murals'], 'rooms', ['rooms']],
  ['PAGE_SIZE', 'pageSize', 25, '100', 100],
  ['TRUST_PROXY', 'trustProxy', 0, '2', 2],
  ['SIGN_INS_PER_ADDRESS', 'signInsPerAddress', 1000, '50', 50],
  ['METRICS_PORT', 'metricsPort', 0, '9090', 9090],
  ['SHUTDOWN_SECONDS', 'shutdownSeconds', 25, '3', 3],
  ['LOG_LEVEL', 'logLevel', 'info', 'silent', 'silent'],
];

test.each(VARIABLES)('%s sets %s', (name, field, minimal, text, value) => {
  expect(loadConfig(minimalEnv)[field]).toEqual(minimal);
  expect(loadConfig({ ...minimalEnv, [name]: text })[field]).toEqual(value);
});

test('the configuration has a field for each variable and for the build', () => {
  expect(VARIABLES.map(([name]) => name)).toEqual(variableNames);
  const fields = VARIABLES.map(([, field]) => field);
  const config = loadConfig(minimalEnv);
  expect(Object.keys(config).toSorted()).toEqual(
    [...fields, 'build', 'isHttps', 'publicUrlIsDefault'].toSorted(),
  );
  expect(config.build).toEqual({ version: packageVersion, revision: 'unknown' });
});

test('an empty variable is treated as unset', () => {
  expect(loadConfig({ ...minimalEnv, PORT: '', PUBLIC_URL: '', CLIENT_SECRET_FILE: '' })).toEqual(
    loadConfig(minimalEnv),
  );
});

test('an empty environment causes a problem for each required variable', () => {
  expect(problemsOf({})).toEqual(Object.keys(minimalEnv).map((name) => `${name} is required`));
});

test('problems with individual variables and conflicts between variables are reported together', () => {
  const names = problemsOf({
    NODE_ENV: 'production',
    SERVICE_URL: 'http://service.example.com',
    PORT: '70000',
    COOKIE_SAMESITE: 'none',
    CLIENT_SECRET: 's',
    CLIENT_SECRET_FILE: '/nowhere',
    REDIS_URL: 'mysql://h',
    SESSION_KEYS: 'short,shorter',
    LOG_LEVEL: 'loud',
  }).map((problem) => problem.split(' ')[0]);
  const broken = `
    CLIENT_ID CLIENT_SECRET COOKIE_SAMESITE LOG_LEVEL PORT PUBLIC_URL REDIS_URL SCOPES SERVICE_URL SESSION_KEYS
  `;
  expect(new Set(names)).toEqual(new Set(broken.trim().split(/\s+/)));
  expect(names).toHaveLength(11); // SESSION_KEYS has two problems
});

test('the error message lists all problems', () => {
  const load = () => loadConfig({ ...minimalEnv, PORT: 'x', PAGE_SIZE: '0' });
  expect(load).toThrow(ConfigError);
  expect(load).toThrow(
    'PORT must be a whole number from 0 to 65535, in decimal digits\n' +
      'PAGE_SIZE must be a whole number from 1 to 100, in decimal digits',
  );
});

test('problems never quote a value, even if the value is not secret', () => {
  const value = 'hunter2 "{}\\ \u0007';
  const names = Object.keys(minimalEnv);
  const problems = problemsOf({
    ...Object.fromEntries(names.map((name) => [name, value])),
    REDIS_URL: 'redis://user:hunter2@ho st/hunter2?hunter2=hunter2',
    PUBLIC_URL: 'https://hunter2@host',
    PORT: 'hunter2',
    LOG_LEVEL: 'hunter2',
    API_PATHS: 'hunter2',
    HOST: 'hunter2!',
  });
  expect(problems.length).toBeGreaterThanOrEqual(names.length + 5);
  expect(problems.join('\n')).not.toContain('hunter2');
});

test('the configuration is deeply frozen', () => {
  const config = loadConfig(minimalEnv);
  for (const value of [config, config.redis, config.sessionKeys, config.apiPaths, config.workspaceItems]) {
    expect(Object.isFrozen(value)).toBe(true);
  }
});

test('the default PUBLIC_URL contains the value of PORT', () => {
  expect(loadConfig({ ...minimalEnv, PORT: '8080' }).publicOrigin).toBe('http://localhost:8080');
});

test.each([
  ['', '0', 45_678, 'http://localhost:45678'],
  ['', '80', 80, 'http://localhost'], // browsers omit the default port
  ['http://localhost:3000', '0', 45_678, 'http://localhost:3000'],
])(
  'with PUBLIC_URL=%s and PORT=%s, the origin after binding to port %i is %s',
  (PUBLIC_URL, PORT, bound, origin) => {
    const config = withPort(loadConfig({ ...minimalEnv, PUBLIC_URL, PORT }), bound);
    expect(config).toMatchObject({ port: bound, publicOrigin: origin });
    expect(Object.isFrozen(config)).toBe(true);
  },
);

test.each([
  ['set', { BUILD_VERSION: '7.1', BUILD_REVISION: '4bf92f35' }, '7.1', '4bf92f35'],
  ['unset', {}, packageVersion, 'unknown'],
  ['empty', { BUILD_VERSION: '', BUILD_REVISION: '' }, packageVersion, 'unknown'],
])('the build has a version and revision if their variables are %s', (_what, env, version, revision) => {
  expect(readBuild(env)).toEqual({ version, revision });
});
