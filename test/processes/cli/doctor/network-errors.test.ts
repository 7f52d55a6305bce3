import { expect, test } from '@jest/globals';
import { validEnv } from '../../../support/doctor/doctor.ts';
import { useFixture, useTestApp } from '../../../support/fixtures.ts';
import { startProgram } from '../../../support/programs.ts';
import { startRedisNode } from '../../../support/redis/redis-node.ts';

const RESOLVER = new URL('../../../support/doctor/hanging-dns.mjs', import.meta.url).href;
const NO_RESPONSE = 'can’t be looked up because no DNS server responds';

const testApp = useTestApp();
const redis = useFixture(async () => startRedisNode([]));

/** Runs the doctor with the DNS resolver from hanging-dns.mjs. Returns a function that looks up a finding by its id. */
async function examine(changes: Record<string, string>): Promise<(id: string) => unknown> {
  const args = ['--import', RESOLVER, 'dist/cli/doctor.js', '--json'];
  await using program = await startProgram(process.execPath, args, {
    ...validEnv,
    PUBLIC_URL: 'https://app.hangs.example',
    SERVICE_URL: testApp.serviceOrigin.replace('127.0.0.1', 'responds.example'),
    ALLOW_INSECURE_SERVICE: 'true',
    REDIS_URL: `redis://responds.example:${redis.port}`,
    ...changes,
  });
  const { output } = await program.waitForExit();
  const { checks } = JSON.parse(output) as { checks: { id: string }[] };
  return (id) => checks.find((check) => check.id === id);
}

test('DNS timeouts for the service and PUBLIC_URL do not delay the Redis checks', async () => {
  const findingOf = await examine({ SERVICE_URL: 'https://service.hangs.example' });
  expect(findingOf('service-reachable')).toMatchObject({
    status: 'problem',
    detail: `https://service.hangs.example ${NO_RESPONSE}.`,
  });
  expect(findingOf('service-token-endpoint')).toMatchObject({ status: 'skipped' });
  expect(findingOf('public-url')).toMatchObject({ detail: expect.stringContaining(NO_RESPONSE) });
  for (const id of ['redis-reachable', 'redis-commands'])
    expect(findingOf(id)).toMatchObject({ status: 'ok' });
});

test('a DNS timeout for Redis does not delay the service checks', async () => {
  const findingOf = await examine({ REDIS_URL: 'redis://redis.hangs.example' });
  expect(findingOf('redis-reachable')).toMatchObject({
    status: 'problem',
    detail: `redis.hangs.example:6379 ${NO_RESPONSE}.`,
  });
  expect(findingOf('service-reachable')).toMatchObject({ status: 'ok' });
});
