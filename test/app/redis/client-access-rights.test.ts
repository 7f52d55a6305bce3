import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { startPrivateRedis } from '../../../src/redis/private-redis.ts';
import { ROOT } from '../../support/constants.ts';
import { runDoctor } from '../../support/doctor/doctor.ts';
import { useFixture } from '../../support/fixtures.ts';
import { openRedis } from '../../support/redis/clients.ts';
import { startTestApp } from '../../support/test-app.ts';

const LINE = /redis-cli -x (ACL SETUSER cloakroom on .+)$/m;
const guide = readFileSync(join(ROOT, 'docs/deploy.md'), 'utf8');
/** The arguments for redis-cli, without the password, which comes from standard input. */
const [command = '', ...words] = (LINE.exec(guide)?.[1] ?? '').replaceAll("'", '').split(' ');

const server = useFixture(startPrivateRedis);
/** The test's own connection, as the default user. */
const redis = useFixture(async () => openRedis(server.url));
/** An app whose Redis user has only the documented permissions. */
const testApp = useFixture(async () => {
  await redis.call(command, ...words, '>PASSWORD');
  return startTestApp({ REDIS_URL: urlOfUser() });
});
const urlOfUser = () => server.url.replace('://', '://cloakroom:PASSWORD@');

test('the documented Redis user has all permissions that a session needs, from sign-in to sign-out', async () => {
  await redis.call('ACL', 'LOG', 'RESET');
  const { browser } = await testApp.signIn();
  const statusOfApi = async () => (await browser.fetch(`${testApp.origin}/api/public/v1/workspaces`)).status;
  expect(await statusOfApi()).toBe(200);
  testApp.advanceClock(900_000); // the token expires and is refreshed
  expect(await statusOfApi()).toBe(200);
  expect((await browser.fetch(`${testApp.origin}/workspaces?page=3`)).status).toBe(200);
  expect((await browser.fetch(`${testApp.origin}/readyz`)).text).toBe('{"status":"ready"}');
  await browser.press(await browser.fetch(`${testApp.origin}/workspaces`), 'Sign out');
  expect(await statusOfApi()).toBe(401);
  expect(await refusedCommands()).toEqual([]);
  expect(await redis.keys('cloakroom:sign-in-counts:*')).toHaveLength(1);
});

test('the doctor finds no problem with the documented Redis user', async () => {
  const findingOf = await runDoctor({ REDIS_URL: urlOfUser() });
  for (const id of ['reachable', 'role', 'commands']) expect(findingOf(`redis-${id}`).status).toBe('ok');
});

test('the documented Redis user can neither administer Redis nor access the keys of other programs', async () => {
  await using own = await openRedis(urlOfUser());
  for (const forbidden of ['CONFIG GET *', 'KEYS *', 'FLUSHALL', 'GET other:key']) {
    const [name = '', ...rest] = forbidden.split(' ');
    await expect(own.call(name, ...rest)).rejects.toThrow('NOPERM');
  }
});

/** Returns the commands that Redis has refused, except CLIENT commands, which Cloakroom can do without. */
async function refusedCommands(): Promise<string[]> {
  const log = (await redis.call('ACL', 'LOG')) as unknown[][];
  const refused = log.map((entry) => String(entry[entry.indexOf('object') + 1]));
  return refused.filter((name) => !name.startsWith('client'));
}
