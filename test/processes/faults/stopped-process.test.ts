import { expect, test } from '@jest/globals';
import { sessionScopedKey } from '../../../src/session/store.ts';
import { TOKEN_AGE_MS } from '../../support/constants.ts';
import { eventually } from '../../support/eventually.ts';
import { useFleet } from '../../support/fleet/fleet.ts';
import { send } from '../../support/fleet/requests.ts';

const FIVE_MINUTES_MS = 300_000;

const fleet = useFleet({ processes: 2, service: { LOCAL_SERVICE_ROTATE_REFRESH: 'true' } });

test('a process stopped while holding the lock does not send a token request after another process has refreshed', async () => {
  const session = await fleet.createSession('demo', { expiresAt: 0 });
  const [holder, other] = [fleet.at(0), fleet.at(1)];
  await send(holder.url, session.cookie);
  await other.setClockSkew(TOKEN_AGE_MS);
  // The next refresh takes the lock and waits a full second, because the previous refresh is in the future according to the
  // holder's clock.
  await holder.setClockSkew(-FIVE_MINUTES_MS);
  const stored = await fleet.storedGrant(session);
  await fleet.service.revokeAccess(stored?.accessToken ?? '');
  const lock = sessionScopedKey('cloakroom:', 'refresh-lock', session.id);
  await eventually(async () => (await fleet.redis.exists(lock)) === 0); // the first refresh has released the lock
  const stopped = send(holder.url, session.cookie);
  await eventually(async () => (await fleet.redis.exists(lock)) === 1);
  process.kill(holder.pid, 'SIGSTOP');
  const refreshed = await send(other.url, session.cookie);
  process.kill(holder.pid, 'SIGCONT');
  expect([refreshed, await stopped]).toMatchObject([{ status: 200 }, { status: 200 }]);
  await Promise.all([holder.setClockSkew(0), other.setClockSkew(0)]);

  const presented = fleet.service.refreshes.map(({ refreshToken }) => refreshToken);
  expect(presented).toHaveLength(2);
  expect(new Set(presented).size).toBe(2);
});
