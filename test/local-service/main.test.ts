import { expect, test } from '@jest/globals';
import { startPrivateRedis } from '../../src/redis/private-redis.ts';
import { TOKEN_PATH } from '../support/constants.ts';
import { eventually } from '../support/eventually.ts';
import { authorizationUrl } from '../support/local-service/cookie-browser.ts';
import { codeFields } from '../support/local-service/requests.ts';
import { startProgram, type Program } from '../support/programs.ts';
import { authorizeApp } from './clients/oauth-flow.ts';

// These tests run `npm run service`, including the launcher and the compiled program.

async function startService(env: Record<string, string> = {}): Promise<[Program, origin: string]> {
  const settings = { LOCAL_SERVICE_PORT: '0', LOCAL_SERVICE_FAULTS: 'true', ...env };
  const program = await startProgram('npm', ['run', '--silent', 'service'], settings);
  const [, origin = ''] = await program.waitForOutput(/"url":"(\S+?)","msg":"listening"/);
  return [program, origin];
}

async function newAccessToken(origin: string): Promise<string> {
  const callback = await authorizeApp(origin + authorizationUrl());
  const code = callback.searchParams.get('code') ?? '';
  const response = await fetch(origin + TOKEN_PATH, {
    method: 'POST',
    body: new URLSearchParams(codeFields(code)),
  });
  return ((await response.json()) as { access_token: string }).access_token;
}

const list = async (origin: string, accessToken: string) =>
  fetch(`${origin}/api/public/v1/workspaces`, { headers: { authorization: `Bearer ${accessToken}` } });

test.each(['SIGTERM', 'SIGINT'] as const)(
  'the service starts its own Redis and leaves no process behind after %s',
  async (signal) => {
    const [program, origin] = await startService();
    await using _program = program;
    expect((await list(origin, await newAccessToken(origin))).status).toBe(200);
    program.signalGroup(signal);
    expect((await program.waitForExit()).code).toBe(0);
    await eventually(async () => (await program.leftovers()).length === 0);
  },
);

test('closing the terminal leaves no process behind', async () => {
  const [program, origin] = await startService();
  await using _program = program;
  program.signalGroup('SIGHUP');
  await program.waitForExit(); // npm itself exits on the signal
  await eventually(async () => (await program.leftovers()).length === 0);
  await expect(fetch(origin)).rejects.toThrow('fetch failed');
});

test('with REDIS_URL, tokens survive a restart, and two processes share tokens and faults', async () => {
  await using redis = await startPrivateRedis();
  const [first, origin] = await startService({ REDIS_URL: redis.url });
  await using _first = first;
  const accessToken = await newAccessToken(origin);

  const [second, otherOrigin] = await startService({ REDIS_URL: redis.url });
  await using _second = second;
  expect((await list(otherOrigin, accessToken)).status).toBe(200);
  const fault = new URLSearchParams({ route: 'workspaces', fault: 'status', status: '418', calls: '1' });
  await fetch(`${origin}/_faults`, { method: 'POST', body: fault });
  expect((await list(otherOrigin, accessToken)).status).toBe(418);
  expect((await list(origin, accessToken)).status).toBe(200);

  first.signalGroup('SIGKILL');
  second.signalGroup('SIGTERM');
  await Promise.all([first.waitForExit(), second.waitForExit()]);
  const [third, newOrigin] = await startService({ REDIS_URL: redis.url });
  await using _third = third;
  expect((await list(newOrigin, accessToken)).status).toBe(200);
});

test('shutdown lets requests in progress finish', async () => {
  const [program, origin] = await startService();
  await using _program = program;
  const fault = new URLSearchParams({ route: 'workspaces', fault: 'latency', latencyMs: '700' });
  await fetch(`${origin}/_faults`, { method: 'POST', body: fault });
  const response = list(origin, 'any-token');
  await program.waitForOutput(/"msg":"fault injected"/);
  process.kill(program.child.pid ?? 0, 'SIGTERM');
  expect((await response).status).toBe(401);
  expect((await program.waitForExit()).code).toBe(0);
});

test('a port in use is reported in one line', async () => {
  const [program, origin] = await startService();
  await using _program = program;
  const env = { LOCAL_SERVICE_PORT: new URL(origin).port };
  await using second = await startProgram('npm', ['run', '--silent', 'service'], env);
  const { code, output } = await second.waitForExit();
  expect(code).toBe(1);
  expect(output).toMatch(/is already in use\. Free it, or set LOCAL_SERVICE_PORT/);
});
