import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { loadLocalServiceConfig, loadProcessSettings } from '../../src/local-service/config.ts';
import { ConfigError } from '../../src/config/env.ts';

function problemsOf(load: () => unknown): readonly string[] {
  try {
    load();
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

test('every variable has a default', () => {
  expect(loadLocalServiceConfig({})).toEqual({
    host: '127.0.0.1',
    port: 4000,
    clientId: 'demo-app',
    clientSecret: 'demo-secret',
    redirectUris: ['http://localhost:3000/auth/callback'],
    scopes: ['room:read', 'room:write', 'workspace:read'],
    accessTokenSeconds: 900,
    codeSeconds: 60,
    workspaces: 137,
    rotateRefresh: false,
    compat: false,
    faults: false,
  });
});

test('every variable can be set', () => {
  const config = loadLocalServiceConfig({
    LOCAL_SERVICE_HOST: '::1',
    LOCAL_SERVICE_PORT: '0',
    LOCAL_SERVICE_CLIENT_ID: 'my app',
    LOCAL_SERVICE_CLIENT_SECRET: 's3cret!',
    LOCAL_SERVICE_REDIRECT_URIS: 'https://a.example/cb, https://b.example/cb?x=1',
    LOCAL_SERVICE_SCOPES: 'workspaces:read rooms:write',
    LOCAL_SERVICE_ACCESS_TOKEN_SECONDS: '5',
    LOCAL_SERVICE_CODE_SECONDS: '10',
    LOCAL_SERVICE_WORKSPACES: '0',
    LOCAL_SERVICE_ROTATE_REFRESH: 'true',
    LOCAL_SERVICE_COMPAT: 'true',
    LOCAL_SERVICE_FAULTS: 'true',
  });
  expect(config).toEqual({
    host: '::1',
    port: 0,
    clientId: 'my app',
    clientSecret: 's3cret!',
    redirectUris: ['https://a.example/cb', 'https://b.example/cb?x=1'],
    scopes: ['workspaces:read', 'rooms:write'],
    accessTokenSeconds: 5,
    codeSeconds: 10,
    workspaces: 0,
    rotateRefresh: true,
    compat: true,
    faults: true,
  });
});

test('the error lists all problems together, by variable and without values', () => {
  const env = {
    LOCAL_SERVICE_HOST: 'bad host',
    LOCAL_SERVICE_PORT: '65536',
    LOCAL_SERVICE_CLIENT_ID: 'naïve',
    LOCAL_SERVICE_CLIENT_SECRET: 'sécret',
    LOCAL_SERVICE_REDIRECT_URIS: 'https://a.example/cb#fragment',
    LOCAL_SERVICE_SCOPES: 'room:read room:admin',
    LOCAL_SERVICE_ACCESS_TOKEN_SECONDS: '0',
    LOCAL_SERVICE_CODE_SECONDS: '601',
    LOCAL_SERVICE_WORKSPACES: 'many',
    LOCAL_SERVICE_ROTATE_REFRESH: 'yes',
    LOCAL_SERVICE_COMPAT: 'on',
    LOCAL_SERVICE_FAULTS: '1',
  };
  const problems = problemsOf(() => loadLocalServiceConfig(env));
  expect(problems.map((problem) => problem.split(' ')[0])).toEqual(Object.keys(env));
  for (const value of ['sécret', 'naïve', 'many']) expect(problems.join()).not.toContain(value);
});

test('REDIS_URL is optional', () => {
  expect(loadProcessSettings({})).not.toHaveProperty('redis');
  expect(loadProcessSettings({ REDIS_URL: 'redis://localhost' }).redis).toMatchObject({ host: 'localhost' });
});

test('REDIS_URL and the client secret can be read from files', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'local-service-'));
  const env = {
    REDIS_URL_FILE: join(folder, 'redis-url'),
    LOCAL_SERVICE_CLIENT_SECRET_FILE: join(folder, 'client-secret'),
  };
  await writeFile(env.REDIS_URL_FILE, 'redis://:secret@localhost\n');
  await writeFile(env.LOCAL_SERVICE_CLIENT_SECRET_FILE, 'a-secret\n');
  expect(loadProcessSettings(env).redis).toMatchObject({ password: 'secret' });
  expect(loadProcessSettings(env).config.clientSecret).toBe('a-secret');
  expect(loadLocalServiceConfig(env).clientSecret).toBe('a-secret');
  await rm(folder, { recursive: true });
});

test('a process reports problems in its configuration and its Redis settings together', () => {
  const env = { LOCAL_SERVICE_PORT: 'x', REDIS_URL: 'http://:hush@localhost', LOG_LEVEL: 'loud' };
  const problems = problemsOf(() => loadProcessSettings(env));
  expect(problems.map((problem) => problem.split(' ')[0])).toEqual([
    'LOCAL_SERVICE_PORT',
    'REDIS_URL',
    'LOG_LEVEL',
  ]);
  expect(problems.join()).not.toContain('hush');
});
