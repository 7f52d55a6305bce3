import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startTestApp } from '../../../support/test-app.ts';
import type { TestApp } from '../../../support/test-app.ts';
import { soundEnv } from '../../../support/doctor/doctor.ts';
import { startProgram } from '../../../support/programs.ts';
import { startRedisNode } from '../../../support/redis/redis-node.ts';
import type { RedisNode } from '../../../support/redis/redis-node.ts';

const RESOLVER = new URL('../../../support/doctor/hanging-names.mjs', import.meta.url).href;
const UNANSWERED = 'can’t be looked up: no DNS server answers for its name';

let testApp: TestApp;
let redis: RedisNode;
/** All at names that are answered. */
let env: Record<string, string>;

beforeAll(async () => {
  [testApp, redis] = await Promise.all([startTestApp(), startRedisNode(() => [])]);
  env = {
    ...soundEnv,
    PUBLIC_URL: 'https://answers.example:1',
    SERVICE_URL: testApp.serviceOrigin.replace('127.0.0.1', 'answers.example'),
    ALLOW_INSECURE_SERVICE: 'true',
    REDIS_URL: `redis://answers.example:${redis.port}`,
  };
});

afterAll(async () => {
  await Promise.all([testApp[Symbol.asyncDispose](), redis[Symbol.asyncDispose]()]);
});

/** What the doctor says, by id, where names are answered as in hanging-names.mjs. */
async function said(changes: Record<string, string>): Promise<(id: string) => unknown> {
  const args = ['--import', RESOLVER, 'dist/cli/doctor.js', '--json'];
  await using program = await startProgram(process.execPath, args, { ...env, ...changes });
  const { output } = await program.ended();
  const { checks } = JSON.parse(output) as { checks: { id: string }[] };
  return (id) => checks.find((check) => check.id === id);
}

test('names of the service and of PUBLIC_URL that nobody answers for are told, and Redis is not blamed for them', async () => {
  const finding = await said({
    SERVICE_URL: 'https://service.hangs.example',
    PUBLIC_URL: 'https://app.hangs.example',
  });
  expect(finding('service-reachable')).toMatchObject({
    status: 'problem',
    detail: `https://service.hangs.example ${UNANSWERED}.`,
  });
  expect(finding('service-token-endpoint')).toMatchObject({ status: 'skipped' });
  expect(finding('public-url')).toMatchObject({ detail: expect.stringContaining(UNANSWERED) });
  for (const id of ['redis-reachable', 'redis-commands']) expect(finding(id)).toMatchObject({ status: 'ok' });
});

test('a name of Redis that nobody answers for is told, and the service is not blamed for it', async () => {
  const finding = await said({
    REDIS_URL: 'redis://redis.hangs.example',
    PUBLIC_URL: 'https://app.hangs.example',
  });
  expect(finding('redis-reachable')).toMatchObject({
    status: 'problem',
    detail: `Redis at redis.hangs.example:6379 ${UNANSWERED}.`,
  });
  expect(finding('service-reachable')).toMatchObject({ status: 'ok' });
});
