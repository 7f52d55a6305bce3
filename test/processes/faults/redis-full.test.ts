import { beforeAll, expect, test } from '@jest/globals';
import { useFleetAndRedis, type TestSession } from '../../support/fleet/fleet.ts';
import {
  observeFault,
  startPollingUser,
  type ObservedFault,
  type PollingUser,
} from '../../support/fleet/redis-fault.ts';
import { reportFault } from '../../support/fleet/report.ts';
import { tally } from '../../support/fleet/requests.ts';

const { fleet, redis } = useFleetAndRedis({
  processes: 2,
  env: { REFRESH_AHEAD_SECONDS: '300' },
  service: { LOCAL_SERVICE_ROTATE_REFRESH: 'true' },
});
let seen: ObservedFault;
/** A session whose token expires within REFRESH_AHEAD_SECONDS, but not before the tests end. */
let expiring: TestSession;
let refreshesDuring: readonly string[];
let expiringUser: PollingUser;

beforeAll(async () => {
  expiring = await fleet.createSession('expiring', { expiresAt: Date.now() + 290_000 });
  seen = await observeFault(fleet, {
    async begin() {
      await redis.fillMemory();
      expiringUser = startPollingUser(fleet, expiring, ['api']);
    },
    async end() {
      refreshesDuring = fleet.service.refreshes.map(({ refreshToken }) => refreshToken);
      await expiringUser.stop();
      await redis.freeMemory();
    },
  });
});

test('with Redis full, API requests, pages and /auth/session work', () => {
  for (const responses of [seen.during.api, seen.during.page, seen.during.status])
    expect(Object.keys(tally(responses))).toEqual(['200']);
});

test('with Redis full, sign-out works and ends the session', async () => {
  expect(seen.during.logout.map(({ status }) => status)).toEqual([303, 303]);
  expect(await fleet.storedGrant(seen.sessions.signedOut)).toBeNull();
});

test('with Redis full, sign-in responds with a 503 page and Retry-After', () => {
  expect(Object.keys(tally(seen.during.login))).toEqual(['503']);
  for (const { headers, body } of seen.during.login) {
    expect(headers['retry-after']).toMatch(/^\d+$/);
    expect(headers['set-cookie']).toBeUndefined();
    expect(body).toContain('Try again');
  }
});

test('with Redis full, the gateway uses an expiring token without refreshing it', () => {
  expect(new Set(expiringUser.exchanges.map(({ response }) => response.status))).toEqual(new Set([200]));
  expect(refreshesDuring).not.toContain(expiring.grant.refreshToken);
});

test('with Redis full, an expired token leads to a 503, and Cloakroom does not present the refresh token', () => {
  expect(Object.keys(tally(seen.during.expired))).toEqual(['503 session_store_unavailable']);
  expect(refreshesDuring).not.toContain(seen.sessions.expired.grant.refreshToken);
});

test('with Redis full, every process is ready but reports that Redis is full', () => {
  for (const { status, body } of seen.during.readyz) {
    expect([status, JSON.parse(body)]).toEqual([200, { status: 'ready', limited: ['redis_full'] }]);
  }
});

test('with Redis full, every response arrives within 2 s', () => {
  const times = Object.values(seen.during).flatMap((responses) => responses.map(({ ms }) => ms));
  expect(Math.max(...times)).toBeLessThan(2_000);
});

test('once Redis has free memory again, refresh and sign-in work, and no session is lost', async () => {
  const { sessions, responses, recoveredInMs } = seen;
  const sessionsLost = await fleet.countLostSessions([sessions.unexpired, sessions.expired, expiring]);
  reportFault('Redis is full (noeviction)', responses, {
    sessionsLost,
    recoveredInMs: Math.max(recoveredInMs.expired, recoveredInMs.login),
  });
  expect(sessionsLost).toBe(0);
  expect(tally(responses)).not.toHaveProperty('401 session_expired');
  expect(fleet.refreshesOf(sessions.expired)).toHaveLength(1);
});
