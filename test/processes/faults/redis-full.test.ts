import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { closeConnections, tally } from '../../support/fleet/requests.ts';
import { startFleet } from '../../support/fleet/fleet.ts';
import type { TestSession, Fleet } from '../../support/fleet/fleet.ts';
import { observeFault } from '../../support/fleet/redis-fault.ts';
import type { ObservedFault } from '../../support/fleet/redis-fault.ts';
import { startRedisServer } from '../../support/fleet/redis-server.ts';
import type { RedisServer } from '../../support/fleet/redis-server.ts';
import { reportFault } from '../../support/fleet/report.ts';
import { startPollingUser } from '../../support/fleet/polling-users.ts';

let redis: RedisServer;
let fleet: Fleet;
let seen: ObservedFault;
/** Its token lives on, inside REFRESH_AHEAD, for longer than all this takes. */
let ahead: TestSession;
let refreshesDuring: readonly string[];
let answersAhead: readonly number[];

beforeAll(async () => {
  redis = await startRedisServer();
  const service = { LOCAL_SERVICE_ROTATE_REFRESH: 'true' };
  const env = { REFRESH_AHEAD_SECONDS: '300' };
  fleet = await startFleet({ processes: 2, redisUrl: redis.url, env, service });
  ahead = await fleet.createSession('ahead', { expiresAt: Date.now() + 290_000 });
  let late: ReturnType<typeof startPollingUser>;
  seen = await observeFault(fleet, {
    async begin() {
      await redis.fill();
      late = startPollingUser(fleet, ahead, ['api']);
    },
    async end() {
      refreshesDuring = fleet.service.refreshes.map(({ refreshToken }) => refreshToken);
      await late.stop();
      answersAhead = late.visits.map(({ response }) => response.status);
      await redis.makeRoom();
    },
  });
});
afterAll(async () => {
  await fleet[Symbol.asyncDispose]();
  await redis[Symbol.asyncDispose]();
  await closeConnections();
});

test('with Redis full, calls, pages and /auth/session work', () => {
  const { api, page, status } = seen.during;
  expect([api, page, status].map((responses) => Object.keys(tally(responses)))).toEqual([
    ['200'],
    ['200'],
    ['200'],
  ]);
});

test('with Redis full, signing out works, and for good', async () => {
  expect(seen.during.logout.map(({ status }) => status)).toEqual([303, 303]);
  expect(await fleet.store.peek(seen.sessions.leaving.id)).toBeNull();
});

test('with Redis full, signing in is a 503 page that says when to come again', () => {
  expect(Object.keys(tally(seen.during.login))).toEqual(['503']);
  for (const { headers, body } of seen.during.login) {
    expect(headers['retry-after']).toMatch(/^\d+$/);
    expect(headers['set-cookie']).toBeUndefined();
    expect(body).toContain('Try again');
  }
});

test('with Redis full, a living token goes on being used, and none is renewed ahead', () => {
  expect(answersAhead.length).toBeGreaterThan(0);
  expect(new Set(answersAhead)).toEqual(new Set([200]));
  expect(refreshesDuring).not.toContain(ahead.grant.refreshToken);
});

test('with Redis full, a spent token is a 503, and no refresh token is used up in vain', () => {
  expect(Object.keys(tally(seen.during.spent))).toEqual(['503 session_store_unavailable']);
  expect(refreshesDuring).not.toContain(seen.sessions.spent.grant.refreshToken);
});

test('with Redis full, every process is ready, and tells', () => {
  for (const { status, body } of seen.during.readyz) {
    expect([status, JSON.parse(body)]).toEqual([200, { status: 'ready', limited: ['redis_full'] }]);
  }
});

test('with Redis full, every response is there within two seconds', () => {
  const slowest = Math.max(
    ...Object.values(seen.during).flatMap((responses) => responses.map(({ ms }) => ms)),
  );
  expect(slowest).toBeLessThan(2_000);
});

test('with room again, renewals and sign-in go on by themselves, and nobody is signed out', async () => {
  const { sessions, responses, recoveredInMs } = seen;
  const kept = await Promise.all(
    [sessions.living, sessions.spent, ahead].map(async ({ id }) => fleet.store.peek(id)),
  );
  reportFault({
    fault: 'Redis is full (noeviction)',
    responses,
    sessionsLost: kept.filter((found) => found === null).length,
    recoveredInMs: Math.max(recoveredInMs.spent, recoveredInMs.login),
  });
  expect(kept).not.toContain(null);
  expect(tally(responses)).not.toHaveProperty('401 session_expired');
  const renewals = fleet.service.refreshes.filter(
    ({ refreshToken }) => refreshToken === sessions.spent.grant.refreshToken,
  );
  expect(renewals).toHaveLength(1);
});
