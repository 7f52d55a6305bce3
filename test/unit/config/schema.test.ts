import { expect, test } from '@jest/globals';
import { loadConfig } from '../../../src/config/load.ts';
import { minimalEnv, problemsOf } from './minimal-env.ts';

const key = (byte: number) => Buffer.alloc(32, byte).toString('base64url');

test.each([
  ['PUBLIC_URL', 'http://localhost:3000/'],
  ['PUBLIC_URL', 'http://app.example.com'],
  ['HOST', 'localhost'],
  ['HOST', '0.0.0.0'],
  ['HOST', '::1'],
  ['HOST', 'app-1.internal.'],
  ['PORT', '0'],
  ['PORT', '65535'],
  ['SERVICE_URL', 'http://localhost:4000'],
  ['SERVICE_URL', 'http://127.9.8.7:4000'],
  ['SERVICE_URL', 'http://[::1]:4000'],
  ['CLIENT_SECRET', 'ünïcode with blanks, commas and #'],
  ['SCOPES', 'a'],
  ['REDIS_PREFIX', 'a[*?]:'],
  ['SESSION_KEYS', Array.from({ length: 8 }, (_, index) => key(index)).join(',')],
  ['API_PATHS', '/api/'],
  ['API_PATHS', '/api/v1.2/a-b_c~d'],
  ['WORKSPACE_ITEMS', 'rooms, whiteboards-2'],
  ['LOG_LEVEL', 'trace'],
  ['MAX_REQUESTS', '1'],
  ['MAX_REQUESTS_PER_SESSION', '65535'],
  ['MAX_BODY_BYTES', '0'],
  ['SIGN_INS_PER_ADDRESS', '0'],
])('%s may be %j', (name, value) => {
  expect(problemsOf({ ...minimalEnv, [name]: value })).toEqual([]);
});

test.each([
  ['PUBLIC_URL', 'localhost:3000'],
  ['PUBLIC_URL', 'ftp://app.example.com'],
  ['PUBLIC_URL', 'https://app.example.com/app'],
  ['PUBLIC_URL', 'https://app.example.com/?'],
  ['PUBLIC_URL', 'https://app.example.com#a'],
  ['PUBLIC_URL', 'https://user:pw@app.example.com'],
  ['PUBLIC_URL', 'https:/app.example.com'],
  ['PUBLIC_URL', ' https://app.example.com'],
  ['PUBLIC_URL', 'https://app.exa\nmple.com'],
  ['PUBLIC_URL', 'https://app.example.com:99999'],
  ['PUBLIC_URL', 'https://'],
  ['HOST', '[::1]'],
  ['HOST', 'two hosts'],
  ['HOST', 'host:80'],
  ['HOST', '-a'],
  ['HOST', 'a.'.repeat(127)],
  ['PORT', '65536'],
  ['PORT', '-1'],
  ['PORT', '1e3'],
  ['PORT', '0x50'],
  ['PORT', '080'],
  ['PORT', ' 80'],
  ['PORT', '٣'],
  ['SERVICE_URL', 'service.example.com'],
  ['SERVICE_URL', 'https://service.example.com/api'],
  ['ALLOW_INSECURE_SERVICE', 'TRUE'],
  ['CLIENT_ID', 'a\nb'],
  ['CLIENT_SECRET', 'a\u0000b'],
  ['CLIENT_SECRET', 'secret '],
  ['SCOPES', '  '],
  ['SCOPES', 'a"b'],
  ['SCOPES', 'a\tb'],
  ['SCOPES', 'ä'],
  ['REDIS_URL', 'localhost:6379'],
  ['REDIS_PREFIX', 'a b'],
  ['REDIS_PREFIX', '{a}:'],
  ['REDIS_PREFIX', 'ä:'],
  ['SESSION_KEYS', key(1).slice(1)],
  ['SESSION_KEYS', `${key(1)}=`],
  ['SESSION_KEYS', `${key(1)},`],
  ['SESSION_KEYS', `${key(1)},${key(1)}`],
  ['SESSION_KEYS', `${'A'.repeat(42)}B`],
  ['SESSION_KEYS', Buffer.alloc(32, 255).toString('base64')],
  ['SESSION_KEYS', Array.from({ length: 9 }, (_, index) => key(index)).join(',')],
  ['SESSION_IDLE_SECONDS', '0'],
  ['SESSION_MAX_SECONDS', '0'],
  ['COOKIE_SAMESITE', 'Lax'],
  ['COOKIE_SAMESITE', 'none'],
  ['REFRESH_AHEAD_SECONDS', '-1'],
  ['SERVICE_TIMEOUT_SECONDS', '0'],
  ['TOKEN_TIMEOUT_SECONDS', '0'],
  ['SERVICE_CONNECTIONS', '0'],
  ['CLIENT_HEAD_SECONDS', '0'],
  ['CLIENT_REQUEST_SECONDS', '0'],
  ['CLIENT_IDLE_SECONDS', '0'],
  ['CLIENT_LINGER_SECONDS', '0'],
  ['API_PATHS', '/'],
  ['API_PATHS', '/public/'],
  ['API_PATHS', 'api/public/'],
  ['API_PATHS', '/apis/'],
  ['API_PATHS', '/api/a,'],
  ['API_PATHS', '/api/../admin'],
  ['API_PATHS', '/api/./a'],
  ['API_PATHS', '/api/a..b'],
  ['API_PATHS', '/api/a//'],
  ['API_PATHS', '/api/%61'],
  ['API_PATHS', '/api/a?b'],
  ['API_PATHS', '/api/a;b'],
  ['API_PATHS', '/api/a\\b'],
  ['API_PATHS', '/api/a\u007f'],
  ['MAX_REQUESTS', '0'],
  ['MAX_REQUESTS_PER_SESSION', 'many'],
  ['MAX_BODY_BYTES', '100MB'],
  ['MAX_BODY_BYTES', '99999999999999999999'],
  ['WORKSPACE_ITEMS', 'Rooms'],
  ['WORKSPACE_ITEMS', 'rooms,'],
  ['WORKSPACE_ITEMS', 'rooms,rooms'],
  ['WORKSPACE_ITEMS', '../rooms'],
  ['PAGE_SIZE', '0'],
  ['PAGE_SIZE', '101'],
  ['TRUST_PROXY', 'true'],
  ['SIGN_INS_PER_ADDRESS', '-1'],
  ['METRICS_PORT', '65536'],
  ['METRICS_PORT', '3000'],
  ['SHUTDOWN_SECONDS', '0'],
  ['LOG_LEVEL', 'verbose'],
])('%s must not be %j', (name, value) => {
  const problems = problemsOf({ ...minimalEnv, [name]: value });
  expect(problems).toHaveLength(1);
  expect(problems[0]).toMatch(new RegExp(`^${name} `));
});

test.each(['http://app.example.com', 'http://localhost.example.com', 'http://127.0.0.1.example.com'])(
  'PUBLIC_URL must not be %s in production',
  (value) => {
    const problems = problemsOf({ ...minimalEnv, NODE_ENV: 'production', PUBLIC_URL: value });
    expect(problems).toEqual([expect.stringMatching(/^PUBLIC_URL must be https in production/)]);
  },
);

test.each(['https://app.example.com', 'http://localhost:3000', 'http://a.localhost', 'http://127.0.0.1:1'])(
  'PUBLIC_URL may be %s in production',
  (value) => {
    expect(problemsOf({ ...minimalEnv, NODE_ENV: 'production', PUBLIC_URL: value })).toEqual([]);
  },
);

test('PUBLIC_URL is required in production', () => {
  expect(problemsOf({ ...minimalEnv, NODE_ENV: 'production' })).toEqual([
    'PUBLIC_URL is required in production',
  ]);
});

test('a service over plain http needs ALLOW_INSECURE_SERVICE', () => {
  const env = { ...minimalEnv, SERVICE_URL: 'http://service.example.com' };
  expect(problemsOf(env)).toEqual([expect.stringMatching(/^SERVICE_URL must be https/)]);
  expect(loadConfig({ ...env, ALLOW_INSECURE_SERVICE: 'true' }).serviceOrigin).toBe(env.SERVICE_URL);
});

test('METRICS_PORT and PORT may both be 0', () => {
  expect(problemsOf({ ...minimalEnv, PORT: '0', METRICS_PORT: '0' })).toEqual([]);
});

test('each key that is no key is reported by its place', () => {
  expect(problemsOf({ ...minimalEnv, SESSION_KEYS: `x,${key(1)},y,${key(1)}` })).toEqual([
    expect.stringMatching(/^SESSION_KEYS has a key \(number 1\)/),
    expect.stringMatching(/^SESSION_KEYS has a key \(number 3\)/),
    expect.stringMatching(/^SESSION_KEYS has the same key twice \(number 4\)/),
  ]);
});
