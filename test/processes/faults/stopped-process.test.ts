import { expect, test } from '@jest/globals';
import { keyBesideSession } from '../../../src/session/store.ts';
import { TOKEN_AGE_MS } from '../../support/constants.ts';
import { eventually } from '../../support/eventually.ts';
import { useFleetAndRedis } from '../../support/fleet/fleet.ts';
import { startRedisProxy } from '../../support/fleet/redis-proxy.ts';
import { send } from '../../support/fleet/requests.ts';

const FIVE_MINUTES_MS = 300_000;

const { fleet, redis } = useFleetAndRedis({
  processes: 2,
  service: { LOCAL_SERVICE_ROTATE_REFRESH: 'true' },
});

test('a process that was stopped with the lock sends no token request after the refresh of another process', async () => {
  const session = await fleet.createSession('demo', { expiresAt: 0 });
  const [holder, other] = [fleet.at(0), fleet.at(1)];
  const before = fleet.service.refreshes.length;
  await send(holder.url, session.cookie);
  await other.setClock(TOKEN_AGE_MS);
  // The next refresh takes the lock and waits a whole second, the shortest interval between two: by the clock of its process
  // the previous one is in the future.
  await holder.setClock(-FIVE_MINUTES_MS);
  const stored = await fleet.storedGrant(session);
  await fleet.service.revokeAccess(stored?.accessToken ?? '');
  const lock = keyBesideSession('cloakroom:', 'refresh-lock', session.id);
  await eventually(async () => (await fleet.redis.exists(lock)) === 0); // that of the first refresh
  const stopped = send(holder.url, session.cookie);
  await eventually(async () => (await fleet.redis.exists(lock)) === 1);
  process.kill(holder.pid, 'SIGSTOP');
  const refreshed = await send(other.url, session.cookie);
  process.kill(holder.pid, 'SIGCONT');
  expect([refreshed, await stopped]).toMatchObject([{ status: 200 }, { status: 200 }]);
  await Promise.all([holder.setClock(0), other.setClock(0)]);

  const presented = fleet.service.refreshes.slice(before).map(({ refreshToken }) => refreshToken);
  expect(presented).toHaveLength(2);
  expect(new Set(presented).size).toBe(2);
});

/** Long enough to stop a process before it reads the reply of Redis, and shorter than the timeout of a command. */
const REPLY_DELAY_MS = 1_000;
/** Longer than a holder trusts its lock without a confirmation of Redis. */
const LOCK_IS_FRESH_MS = 2_600;

test('a process that was stopped after the check of its lock presents no refresh token that another has used', async () => {
  await using proxy = await startRedisProxy(redis.port);
  const holder = await fleet.add({ REDIS_URL: proxy.url });
  const session = await fleet.createSession('demo', { expiresAt: 0 });
  const before = fleet.service.refreshes.length;
  Object.assign(proxy, { delayMs: REPLY_DELAY_MS, onlyAfter: '"state":"open"' });
  const stopped = send(holder.url, session.cookie);
  const lock = keyBesideSession('cloakroom:', 'refresh-lock', session.id);
  const entry = keyBesideSession('cloakroom:', 'refresh-journal', session.id);
  await eventually(async () => (await fleet.redis.exists(entry)) === 1);
  process.kill(holder.pid, 'SIGSTOP');
  await fleet.redis.pexpire(lock, LOCK_IS_FRESH_MS); // it would expire in five seconds
  const refreshed = await send(fleet.at(1).url, session.cookie);
  process.kill(holder.pid, 'SIGCONT');

  expect([refreshed, await stopped]).toMatchObject([{ status: 200 }, { status: 200 }]);
  expect(await send(fleet.at(1).url, session.cookie)).toMatchObject({ status: 200 });
  const presented = fleet.service.refreshes.slice(before).map(({ refreshToken }) => refreshToken);
  expect(presented).toHaveLength(1);
});
