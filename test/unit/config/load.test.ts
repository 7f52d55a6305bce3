import { expect, test } from '@jest/globals';
import { loadConfig, withPort } from '../../../src/config/load.ts';
import { ConfigError } from '../../../src/config/env-variables.ts';
import { packageVersion } from '../../support/package-version.ts';
import { minimalEnv } from './minimal-env.ts';
import { problemsOf } from './problems-of.ts';

test('what is not given has the default of the contract', () => {
  expect(loadConfig(minimalEnv)).toEqual({
    build: { version: packageVersion, revision: 'unknown' },
    publicOrigin: 'http://localhost:3000',
    publicUrlIsDefault: true,
    host: '127.0.0.1',
    port: 3000,
    serviceOrigin: 'https://service.example.com',
    clientId: 'an-app',
    clientSecret: 'a-secret',
    scopes: 'room:read room:write',
    redis: { kind: 'single', tls: false, host: 'localhost', port: 6379, db: 0 },
    redisPrefix: 'cloakroom:',
    sessionKeys: [Buffer.alloc(32, 7)],
    sessionIdleSeconds: 3600,
    sessionMaxSeconds: 43_200,
    cookieSameSite: 'lax',
    refreshAheadSeconds: 60,
    serviceTimeoutSeconds: 30,
    tokenTimeoutSeconds: 10,
    serviceConnections: 128,
    clientHeadSeconds: 20,
    clientRequestSeconds: 3600,
    clientIdleSeconds: 75,
    clientLingerSeconds: 30,
    apiPaths: ['/api/public/v1/'],
    maxCalls: 2048,
    maxCallsPerSession: 512,
    maxBodyBytes: 104_857_600,
    workspaceItems: ['rooms', 'murals'],
    pageSize: 25,
    trustProxy: 0,
    signInsPerAddress: 1000,
    metricsPort: 0,
    shutdownSeconds: 25,
    logLevel: 'info',
  });
});

test('every variable is taken up', () => {
  const config = loadConfig({
    NODE_ENV: 'production',
    PUBLIC_URL: 'https://App.example.com:443/',
    HOST: '::',
    PORT: '8080',
    SERVICE_URL: 'http://service.internal:8000',
    ALLOW_INSECURE_SERVICE: 'true',
    CLIENT_ID: 'id',
    CLIENT_SECRET: 'secret',
    SCOPES: ' Room:Read   room:write ',
    REDIS_URL: 'rediss://:pw@redis.example.com/2',
    REDIS_PREFIX: 'app/',
    SESSION_KEYS: `${'A'.repeat(43)}, ${'B'.repeat(42)}A`,
    SESSION_IDLE_SECONDS: '60',
    SESSION_MAX_SECONDS: '30',
    COOKIE_SAMESITE: 'strict',
    REFRESH_AHEAD_SECONDS: '0',
    SERVICE_TIMEOUT_SECONDS: '5',
    TOKEN_TIMEOUT_SECONDS: '6',
    SERVICE_CONNECTIONS: '7',
    CLIENT_HEAD_SECONDS: '11',
    CLIENT_REQUEST_SECONDS: '12',
    CLIENT_IDLE_SECONDS: '13',
    CLIENT_LINGER_SECONDS: '14',
    API_PATHS: '/api/public/v1, /api/other/',
    MAX_CALLS: '9',
    MAX_CALLS_PER_SESSION: '10',
    MAX_BODY_BYTES: '8',
    WORKSPACE_ITEMS: 'rooms',
    PAGE_SIZE: '100',
    TRUST_PROXY: '2',
    SIGN_INS_PER_ADDRESS: '50',
    METRICS_PORT: '9090',
    SHUTDOWN_SECONDS: '3',
    LOG_LEVEL: 'silent',
  });
  expect(config).toEqual({
    build: { version: packageVersion, revision: 'unknown' },
    publicOrigin: 'https://app.example.com',
    publicUrlIsDefault: false,
    host: '::',
    port: 8080,
    serviceOrigin: 'http://service.internal:8000',
    clientId: 'id',
    clientSecret: 'secret',
    scopes: 'Room:Read room:write',
    redis: { kind: 'single', tls: true, host: 'redis.example.com', port: 6379, db: 2, password: 'pw' },
    redisPrefix: 'app/',
    sessionKeys: [Buffer.alloc(32), Buffer.from(`${'B'.repeat(42)}A`, 'base64url')],
    sessionIdleSeconds: 60,
    sessionMaxSeconds: 30,
    cookieSameSite: 'strict',
    refreshAheadSeconds: 0,
    serviceTimeoutSeconds: 5,
    tokenTimeoutSeconds: 6,
    serviceConnections: 7,
    clientHeadSeconds: 11,
    clientRequestSeconds: 12,
    clientIdleSeconds: 13,
    clientLingerSeconds: 14,
    apiPaths: ['/api/public/v1/', '/api/other/'],
    maxCalls: 9,
    maxCallsPerSession: 10,
    maxBodyBytes: 8,
    workspaceItems: ['rooms'],
    pageSize: 100,
    trustProxy: 2,
    signInsPerAddress: 50,
    metricsPort: 9090,
    shutdownSeconds: 3,
    logLevel: 'silent',
  });
});

test('an empty variable counts as unset', () => {
  expect(loadConfig({ ...minimalEnv, PORT: '', PUBLIC_URL: '', CLIENT_SECRET_FILE: '' })).toEqual(
    loadConfig(minimalEnv),
  );
});

test('an environment without anything is answered with the names of all that is required', () => {
  expect(problemsOf({})).toEqual([
    'SERVICE_URL is required',
    'CLIENT_ID is required',
    'CLIENT_SECRET is required',
    'SCOPES is required',
    'REDIS_URL is required',
    'SESSION_KEYS is required',
  ]);
});

const BROKEN = `
  CLIENT_ID CLIENT_SECRET COOKIE_SAMESITE LOG_LEVEL PORT PUBLIC_URL REDIS_URL SCOPES SERVICE_URL SESSION_KEYS
`
  .trim()
  .split(' ');

test('problems of shape and between variables are reported together', () => {
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
  expect(new Set(names)).toEqual(new Set(BROKEN));
  // Two keys, two problems.
  expect(names).toHaveLength(BROKEN.length + 1);
});

test('the message of the error is all of its problems', () => {
  const load = () => loadConfig({ ...minimalEnv, PORT: 'x', PAGE_SIZE: '0' });
  expect(load).toThrow(ConfigError);
  expect(load).toThrow(
    'PORT must be a whole number from 0 to 65535, in decimal digits\n' +
      'PAGE_SIZE must be a whole number from 1 to 100, in decimal digits',
  );
});

test('no problem repeats a value, secret or not', () => {
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

test('the configuration is frozen throughout', () => {
  const config = loadConfig(minimalEnv);
  for (const value of [config, config.redis, config.sessionKeys, config.apiPaths, config.workspaceItems]) {
    expect(Object.isFrozen(value)).toBe(true);
  }
});

test('the default PUBLIC_URL follows PORT', () => {
  expect(loadConfig({ ...minimalEnv, PORT: '8080' }).publicOrigin).toBe('http://localhost:8080');
});

test('the default PUBLIC_URL follows the port that was found free', () => {
  const config = withPort(loadConfig({ ...minimalEnv, PORT: '0' }), 45_678);
  expect(config).toMatchObject({ port: 45_678, publicOrigin: 'http://localhost:45678' });
  expect(Object.isFrozen(config)).toBe(true);
});

test('a default PUBLIC_URL on port 80 is the origin as a browser writes it', () => {
  expect(withPort(loadConfig(minimalEnv), 80).publicOrigin).toBe('http://localhost');
});

test('a PUBLIC_URL that was given stays whatever the port is', () => {
  const config = loadConfig({ ...minimalEnv, PORT: '0', PUBLIC_URL: 'http://localhost:3000' });
  expect(withPort(config, 45_678)).toMatchObject({ port: 45_678, publicOrigin: 'http://localhost:3000' });
});
