import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { expect, test } from '@jest/globals';
import { ACCEPT_HTML, CLIENT_SECRET } from '../../support/constants.ts';
import { send, startLoad, tally } from '../../support/fleet/requests.ts';
import { startFleet } from '../../support/fleet/fleet.ts';
import { startRedisServer, type RedisServer } from '../../support/fleet/redis-server.ts';
import { createSecretFolder } from '../../support/fleet/secret-folder.ts';
import { eventually } from '../../support/eventually.ts';

const PAUSE_MS = 5;
const SIGN_IN = { path: '/auth/login', headers: ACCEPT_HTML };
const RIGHTS = ['on', '>one', '~cloakroom:*', '+@all'];

function connectAdmin({ port }: RedisServer) {
  const admin = new Redis(port);
  return Object.assign(admin, { [Symbol.asyncDispose]: async () => void (await admin.quit()) });
}

test('two processes under load switch to a new Redis password, and no request fails', async () => {
  await using server = await startRedisServer();
  await using admin = connectAdmin(server);
  const urlWith = (password: string) => server.url.replace('://', `://app:${password}@`);
  const setUser = async (...rules: string[]) => admin.call('ACL', 'SETUSER', 'app', ...rules);
  const connections = async () =>
    String(await admin.client('LIST'))
      .match(/^id=\d+(?=.* user=app)/gm)
      ?.toSorted() ?? [];

  await setUser(...RIGHTS);
  await using folder = await createSecretFolder({ REDIS_URL: urlWith('one') });
  await using fleet = await startFleet({ processes: 2, redisUrl: server.url, env: folder.env });
  const { cookie } = await fleet.createSession();
  await eventually(async () => (await connections()).length === 2);
  const before = await connections();
  const load = startLoad(4, async (count) => {
    await delay(PAUSE_MS);
    return send(fleet.at(count).url, cookie, count % 5 === 0 ? SIGN_IN : {});
  });

  await setUser('>two');
  await folder.write('REDIS_URL', urlWith('two'));
  for (const each of fleet.processes)
    expect(await each.reloadSecrets()).toMatchObject({ level: 'info', changed: ['REDIS_URL'] });
  await setUser('<one');
  await load.next(200);
  await load.next(302);
  expect(Object.keys(tally(await load.stop())).toSorted()).toEqual(['200', '302']);
  expect(await connections()).toEqual(before);

  // A new connection uses the new password.
  await admin.call('CLIENT', 'KILL', 'USER', 'app');
  await eventually(async () => {
    const now = await connections();
    return now.length === 2 && !now.some((one) => before.includes(one));
  });
  for (const { url } of fleet.processes)
    await eventually(async () => (await send(url, cookie)).status === 200);
});

test('a reload with a password that Redis refuses changes nothing and logs the problem', async () => {
  await using server = await startRedisServer();
  const urlWith = (password: string) => server.url.replace('://', `://app:${password}@`);
  await using admin = connectAdmin(server);
  await admin.call('ACL', 'SETUSER', 'app', ...RIGHTS);
  await using folder = await createSecretFolder({ REDIS_URL: urlWith('one'), CLIENT_SECRET });
  await using fleet = await startFleet({ redisUrl: server.url, env: folder.env });
  const expired = await fleet.createSession('ada', { expiresAt: 0 });

  await folder.write('REDIS_URL', urlWith('guessed'));
  await folder.write('CLIENT_SECRET', 'guessed-too');
  const line = await fleet.at(0).reloadSecrets();
  expect(line).toMatchObject({
    level: 'error',
    problems: ['REDIS_URL has a user or password that Redis refuses'],
  });
  expect(JSON.stringify(fleet.at(0).logged())).not.toContain('guessed');
  // The refresh uses the previous client secret, because a reload changes either all secrets or none.
  expect((await send(fleet.at(0).url, expired.cookie)).status).toBe(200);
});

test('a reload that sets a Redis user without read permission changes nothing, and new connections still use the previous user', async () => {
  await using server = await startRedisServer();
  await using admin = connectAdmin(server);
  const urlWith = (user: string) => server.url.replace('://', `://${user}:one@`);
  await admin.call('ACL', 'SETUSER', 'app', ...RIGHTS);
  await admin.call('ACL', 'SETUSER', 'next', ...RIGHTS, '-getex');
  await using folder = await createSecretFolder({ REDIS_URL: urlWith('app') });
  await using fleet = await startFleet({ redisUrl: server.url, env: folder.env });
  const { cookie } = await fleet.createSession();
  const { url } = fleet.at(0);

  await folder.write('REDIS_URL', urlWith('next'));
  const problems = ['REDIS_URL has a user without a permission that Cloakroom needs'];
  expect(await fleet.at(0).reloadSecrets()).toMatchObject({ level: 'error', problems });
  expect((await send(url, cookie)).status).toBe(200);
  await admin.call('CLIENT', 'KILL', 'USER', 'app');
  await eventually(async () => (await send(url, cookie)).status === 200);
});

test('changing the host, database or scheme of REDIS_URL requires a restart', async () => {
  await using server = await startRedisServer();
  await using folder = await createSecretFolder({ REDIS_URL: server.url });
  await using fleet = await startFleet({ redisUrl: server.url, env: folder.env });
  const { cookie } = await fleet.createSession();
  for (const url of [`${server.url}/1`, 'redis://127.0.0.1:1', server.url.replace('redis:', 'rediss:')]) {
    await folder.write('REDIS_URL', url);
    const { problems } = await fleet.at(0).reloadSecrets();
    expect(problems).toEqual([expect.stringMatching(/^REDIS_URL .* needs a restart$/)]);
  }
  expect((await send(fleet.at(0).url, cookie)).status).toBe(200);
});
