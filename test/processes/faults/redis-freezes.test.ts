import { afterEach, describe, expect, test } from '@jest/globals';
import { sessionScopedKey } from '../../../src/session/store.ts';
import { ACCEPT_HTML as HTML, TOKEN_PATH } from '../../support/constants.ts';
import { send, type FleetResponse } from '../../support/fleet/requests.ts';
import { useFleet } from '../../support/fleet/fleet.ts';
import { startRedisServer } from '../../support/fleet/redis-server.ts';
import { startRedisProxy } from '../../support/fleet/redis-proxy.ts';
import { eventually } from '../../support/eventually.ts';
import { useFixture } from '../../support/fixtures.ts';

/** Returns a pattern that matches the deletion of this session's journal entry. A deletion from an earlier test may still be in flight. */
const deletesEntry = (id: string) => {
  const key = sessionScopedKey('cloakroom:', 'refresh-journal', id);
  return new RegExp(`string\\.sub[^]*'DEL'[^]*${key.replaceAll(/[{}]/g, '\\$&')}`);
};

const redis = useFixture(startRedisServer);
const proxy = useFixture(async () => startRedisProxy(redis.port));
// Cloakroom connects to Redis through the proxy, but the test connects directly.
const fleet = useFleet(() => ({ redisUrl: redis.url, env: { REDIS_URL: proxy.url } }));
afterEach(async () => {
  proxy.unfreeze();
  fleet.service.intercept = () => false;
  // Wait until Redis has replied to all held commands on both connections.
  await eventually(async () => (await send(fleet.at(0).url, '', { path: '/readyz' })).status === 200);
  await eventually(async () => {
    const { cookie } = await fleet.createSession('demo', { expiresAt: 0 });
    return (await send(fleet.at(0).url, cookie)).status === 200;
  });
});

function expectInTime(response: FleetResponse, status: number): void {
  expect(proxy.isFrozen()).toBe(true);
  expect(response.status).toBe(status);
  expect(response.ms).toBeLessThan(2_000);
}

describe('if Redis freezes during a refresh', () => {
  test.each([
    ['acquires the lock', /refresh-lock:/],
    ['reads the session under the lock', /\$3\r\nget\r\n\$\d+\r\ncloakroom:session/],
    ['creates the journal entry', /"state":"open"/],
    ['stores the new tokens', /KEEPTTL/],
  ])('while Cloakroom %s, the client gets a timely 503 and can retry', async (_step, command) => {
    const { cookie } = await fleet.createSession('demo', { expiresAt: 0 });
    proxy.freezeAt = command;
    expectInTime(await send(fleet.at(0).url, cookie), 503);
    proxy.unfreeze();
    await eventually(async () => (await send(fleet.at(0).url, cookie)).status === 200);
  });

  test('while Cloakroom cleans up, the response does not wait for Redis', async () => {
    const { id, cookie } = await fleet.createSession('demo', { expiresAt: 0 });
    proxy.freezeAt = deletesEntry(id);
    const response = await send(fleet.at(0).url, cookie);
    await eventually(async () => proxy.isFrozen());
    expectInTime(response, 200);
  });

  test('the lock expires even if Redis stays frozen for longer than the clean-up waits', async () => {
    const { id, cookie } = await fleet.createSession('demo', { expiresAt: 0 });
    const failedCleanUps = () =>
      fleet
        .at(0)
        .logged()
        .filter(({ msg }) => msg.startsWith('refresh cleanup failed')).length;
    const before = failedCleanUps();
    proxy.freezeAt = deletesEntry(id);
    expect((await send(fleet.at(0).url, cookie)).status).toBe(200);
    await eventually(async () => failedCleanUps() > before);
    const lock = sessionScopedKey('cloakroom:', 'refresh-lock', id);
    await eventually(async () => (await fleet.redis.exists(lock)) === 0); // while Redis is still frozen for Cloakroom
    proxy.unfreeze();
  });

  test('after a failure of the token endpoint, the response does not wait for the clean-up', async () => {
    fleet.service.intercept = ({ url }, res) => url === TOKEN_PATH && Boolean(res.writeHead(500).end());
    const { cookie } = await fleet.createSession('demo', { expiresAt: 0 });
    proxy.freezeAt = /"state":"failed"/;
    const response = await send(fleet.at(0).url, cookie);
    await eventually(async () => proxy.isFrozen());
    expectInTime(response, 503);
  });
});

describe('if Redis freezes during a sign-in', () => {
  /** Signs in, and freezes Redis at a command that Cloakroom sends during the callback. Resolves with the response to the callback. */
  const signInFrozenAt = async (cookie: string, command: RegExp): Promise<FleetResponse> => {
    const { url } = fleet.at(0);
    const { headers } = await send(url, cookie, { path: '/auth/login', headers: HTML });
    const [binding] = String(headers['set-cookie']).split(';');
    const state = new URL(String(headers['location'])).searchParams.get('state');
    const { accessToken, refreshToken } = await fleet.service.issue('demo');
    const tokens = { access_token: accessToken, refresh_token: refreshToken, expires_in: 900 };
    fleet.service.intercept = (req, res) =>
      req.url === TOKEN_PATH && Boolean(res.end(JSON.stringify(tokens)));
    proxy.freezeAt = command;
    const path = `/auth/callback?code=c&state=${state}`;
    return send(url, `${cookie}; ${binding}`, { path, headers: HTML });
  };

  test('while Cloakroom stores the new session, the client gets a 503 and keeps the old session', async () => {
    const old = await fleet.createSession();
    const response = await signInFrozenAt(old.cookie, /\$2\r\nNX\r\n/);
    expectInTime(response, 503);
    expect(String(response.headers['set-cookie'])).not.toContain('cloakroom=');
    proxy.unfreeze();
    await eventually(async () => (await send(fleet.at(0).url, old.cookie)).status === 200);
  });

  test('while Cloakroom ends the old session, the sign-in succeeds and the old session ends once Redis replies', async () => {
    const old = await fleet.createSession();
    const response = await signInFrozenAt(old.cookie, /ended/);
    expectInTime(response, 303);
    const fresh = /cloakroom=[^;]+/.exec(String(response.headers['set-cookie']))?.[0] ?? '';
    proxy.unfreeze();
    await eventually(async () => (await send(fleet.at(0).url, fresh)).status === 200);
    await eventually(async () => (await send(fleet.at(0).url, old.cookie)).status === 401);
  });
});
