import { expect, test } from '@jest/globals';
import { loadConfig } from '../../../src/config/load.ts';
import { minimalEnv, problemsOf } from './minimal-env.ts';

const key = (byte: number) => Buffer.alloc(32, byte).toString('base64url');

/** Variables that must be at least 1. */
const POSITIVE = `
  SESSION_IDLE_SECONDS SESSION_MAX_SECONDS SERVICE_TIMEOUT_SECONDS TOKEN_TIMEOUT_SECONDS SERVICE_CONNECTIONS
  CLIENT_HEAD_SECONDS CLIENT_REQUEST_SECONDS CLIENT_IDLE_SECONDS CLIENT_LINGER_SECONDS MAX_REQUESTS SHUTDOWN_SECONDS
`
  .trim()
  .split(/\s+/);

/** Returns a row for each value of each variable. */
const rows = (values: Readonly<Record<string, readonly string[]>>) =>
  Object.entries(values).flatMap(([name, all]) => all.map((value) => [name, value] as const));

test.each(
  rows({
    PUBLIC_URL: ['http://localhost:3000/', 'http://app.example.com'],
    HOST: ['localhost', '0.0.0.0', '::1', 'app-1.internal.'],
    PORT: ['0', '65535'],
    SERVICE_URL: ['http://localhost:4000', 'http://127.9.8.7:4000', 'http://[::1]:4000'],
    CLIENT_SECRET: ['ünïcode with blanks, commas and #'],
    SCOPES: ['a'],
    REDIS_PREFIX: ['a[*?]:'],
    SESSION_KEYS: [Array.from({ length: 8 }, (_, index) => key(index)).join(',')],
    API_PATHS: ['/api/', '/api/v1.2/a-b_c~d'],
    WORKSPACE_ITEMS: ['rooms, whiteboards-2'],
    LOG_LEVEL: ['trace'],
    MAX_REQUESTS: ['1'],
    MAX_REQUESTS_PER_SESSION: ['65535'],
    MAX_BODY_BYTES: ['0'],
    SIGN_INS_PER_ADDRESS: ['0'],
  }),
)('%s may be %j', (name, value) => {
  expect(problemsOf({ ...minimalEnv, [name]: value })).toEqual([]);
});

test.each(
  rows({
    PUBLIC_URL: [
      ...[
        'localhost:3000',
        'ftp://app.example.com',
        'https://app.example.com/app',
        'https://app.example.com/?',
      ],
      ...['https://app.example.com#a', 'https://user:pw@app.example.com', 'https:/app.example.com'],
      ...[
        ' https://app.example.com',
        'https://app.exa\nmple.com',
        'https://app.example.com:99999',
        'https://',
      ],
    ],
    HOST: ['[::1]', 'two hosts', 'host:80', '-a', 'a.'.repeat(127)],
    PORT: ['65536', '-1', '1e3', '0x50', '080', ' 80', '٣'],
    SERVICE_URL: ['service.example.com', 'https://service.example.com/api'],
    ALLOW_INSECURE_SERVICE: ['TRUE'],
    CLIENT_ID: ['a\nb'],
    CLIENT_SECRET: ['a\u0000b', 'secret '],
    SCOPES: ['  ', 'a"b', 'a\tb', 'ä'],
    REDIS_URL: ['localhost:6379'],
    REDIS_PREFIX: ['a b', '{a}:', 'ä:'],
    SESSION_KEYS: [
      key(1).slice(1),
      `${key(1)}=`,
      `${key(1)},`,
      `${key(1)},${key(1)}`,
      `${'A'.repeat(42)}B`,
      Buffer.alloc(32, 255).toString('base64'),
      Array.from({ length: 9 }, (_, index) => key(index)).join(','),
    ],
    COOKIE_SAMESITE: ['Lax', 'none'],
    REFRESH_AHEAD_SECONDS: ['-1'],
    API_PATHS: [
      ...['/', '/public/', 'api/public/', '/apis/', '/api/a,', '/api/../admin', '/api/./a', '/api/a..b'],
      ...['/api/a//', '/api/%61', '/api/a?b', '/api/a;b', '/api/a\\b', '/api/a\u007f'],
    ],
    MAX_REQUESTS_PER_SESSION: ['many'],
    MAX_BODY_BYTES: ['100MB', '99999999999999999999'],
    WORKSPACE_ITEMS: ['Rooms', 'rooms,', 'rooms,rooms', '../rooms'],
    PAGE_SIZE: ['0', '101'],
    TRUST_PROXY: ['true'],
    SIGN_INS_PER_ADDRESS: ['-1'],
    METRICS_PORT: ['65536', '3000'],
    LOG_LEVEL: ['verbose'],
    ...Object.fromEntries(POSITIVE.map((name) => [name, ['0']])),
  }),
)('%s must not be %j', (name, value) => {
  const problems = problemsOf({ ...minimalEnv, [name]: value });
  expect(problems).toHaveLength(1);
  expect(problems[0]).toMatch(new RegExp(`^${name} `));
});

test.each([
  ['http://app.example.com', ['PUBLIC_URL']],
  ['http://localhost.example.com', ['PUBLIC_URL']],
  ['http://127.0.0.1.example.com', ['PUBLIC_URL']],
  ['https://app.example.com', []],
  ['http://localhost:3000', []],
  ['http://a.localhost', []],
  ['http://127.0.0.1:1', []],
])('PUBLIC_URL=%s in production causes problems with %j', (PUBLIC_URL, variablesWithProblems) => {
  const problems = problemsOf({ ...minimalEnv, NODE_ENV: 'production', PUBLIC_URL });
  expect(problems.map((problem) => problem.split(' must be https in production')[0])).toEqual(
    variablesWithProblems,
  );
});

test('PUBLIC_URL is required in production', () => {
  expect(problemsOf({ ...minimalEnv, NODE_ENV: 'production' })).toEqual([
    'PUBLIC_URL is required in production',
  ]);
});

test('a service over plain HTTP requires ALLOW_INSECURE_SERVICE', () => {
  const env = { ...minimalEnv, SERVICE_URL: 'http://service.example.com' };
  expect(problemsOf(env)).toEqual([expect.stringMatching(/^SERVICE_URL must be https/)]);
  expect(loadConfig({ ...env, ALLOW_INSECURE_SERVICE: 'true' }).serviceOrigin).toBe(env.SERVICE_URL);
});

test('METRICS_PORT and PORT may both be 0', () => {
  expect(problemsOf({ ...minimalEnv, PORT: '0', METRICS_PORT: '0' })).toEqual([]);
});

test('each invalid session key is reported with its position', () => {
  expect(problemsOf({ ...minimalEnv, SESSION_KEYS: `x,${key(1)},y,${key(1)}` })).toEqual([
    expect.stringMatching(/^SESSION_KEYS has a key \(number 1\)/),
    expect.stringMatching(/^SESSION_KEYS has a key \(number 3\)/),
    expect.stringMatching(/^SESSION_KEYS has the same key twice \(number 4\)/),
  ]);
});
