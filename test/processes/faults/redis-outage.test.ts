import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { closeConnections, tally } from '../../support/fleet/requests.ts';
import { startFleet } from '../../support/fleet/fleet.ts';
import type { Fleet } from '../../support/fleet/fleet.ts';
import { observeFault } from '../../support/fleet/redis-fault.ts';
import type { RedisFault, ObservedFault } from '../../support/fleet/redis-fault.ts';
import { startRedisServer } from '../../support/fleet/redis-server.ts';
import type { RedisServer } from '../../support/fleet/redis-server.ts';
import { reportFault } from '../../support/fleet/report.ts';
import { startRedisProxy } from '../../support/fleet/redis-proxy.ts';
import type { RedisProxy } from '../../support/fleet/redis-proxy.ts';

/** The contract's bound on every response while Redis is away. */
const ANSWERS_WITHIN_MS = 2_000;
/** Reconnecting takes up to 1.25 s; the rest is for a busy machine. */
const RECOVERS_WITHIN_MS = 4_000;

let redis: RedisServer;
let line: RedisProxy;
let fleet: Fleet;

beforeAll(async () => {
  redis = await startRedisServer();
  line = await startRedisProxy(redis.port);
  fleet = await startFleet({ processes: 2, redisUrl: redis.url, env: { REDIS_URL: line.url } });
});
afterAll(async () => {
  await fleet[Symbol.asyncDispose]();
  await line[Symbol.asyncDispose]();
  await redis[Symbol.asyncDispose]();
  await closeConnections();
});

const FAULTS: Readonly<Record<string, RedisFault>> = {
  'is killed, and later started with what it had': {
    begin: async () => redis.kill(),
    end: async () => redis.restart('whole'),
  },
  'is paused': { begin: () => redis.pause(), end: () => redis.resume() },
  'replies three seconds late': {
    begin: () => void (line.delayMs = 3_000),
    end: () => void (line.delayMs = 0),
  },
  'takes no writes': { begin: async () => redis.makeReadOnly(), end: async () => redis.makeWritable() },
};

describe.each(Object.entries(FAULTS))('while Redis %s', (how, fault) => {
  let seen: ObservedFault;
  beforeAll(async () => {
    seen = await observeFault(fleet, fault);
  });

  test.each(['api', 'spent'] as const)('%s calls are a 503 problem that keeps the cookie', (errand) => {
    expect(Object.keys(tally(seen.during[errand]))).toEqual(['503 session_store_unavailable']);
  });

  test.each(['page', 'login', 'callback'] as const)('%s is a 503 page with a way on', (errand) => {
    const responses = seen.during[errand];
    expect(Object.keys(tally(responses))).toEqual(['503']);
    for (const { headers, body } of responses) {
      expect(headers['content-type']).toMatch(/^text\/html/);
      expect(body).toContain('Try again');
    }
  });

  test('/auth/session never says that anybody is signed out', () => {
    const said = seen.during.status.map(({ body }) => {
      const { signedIn, code } = JSON.parse(body) as { signedIn?: boolean; code?: string };
      return signedIn ?? code;
    });
    expect(said.length).toBeGreaterThan(0);
    // One that takes no writes can still be asked who is signed in.
    expect([true, 'session_store_unavailable']).toEqual(expect.arrayContaining(said));
  });

  test('signing out is a 503 that says it is not done', () => {
    for (const { status, body } of seen.during.logout) {
      expect({ status, body }).toEqual({
        status: 503,
        body: expect.stringContaining('You are not signed out yet'),
      });
    }
  });

  test('every refusal says when to come again, and no response touches the cookie', () => {
    const { api, spent, page, status, login, callback, logout } = seen.during;
    const responses = [api, spent, page, status, login, callback, logout].flat();
    const refusals = responses.filter((response) => response.status === 503);
    for (const { headers } of refusals) expect(headers['retry-after']).toMatch(/^\d+$/);
    for (const { headers } of responses) expect(headers['set-cookie']).toBeUndefined();
  });

  test('every response is there within two seconds', () => {
    const slowest = Object.entries(seen.during).map(
      ([asked, responses]) => [asked, Math.max(...responses.map(({ ms }) => ms))] as const,
    );
    expect(slowest.filter(([, ms]) => !(ms < ANSWERS_WITHIN_MS))).toEqual([]);
  });

  test('every process is well, but not ready', () => {
    expect(seen.during.healthz.map(({ status }) => status)).toEqual([200, 200]);
    for (const { status, body } of seen.during.readyz) {
      expect([status, JSON.parse(body)]).toEqual([503, { status: 'not ready', missing: ['redis'] }]);
    }
  });

  test('and when it is back, all goes on by itself, and nobody is signed out', async () => {
    const { sessions, responses, recoveredInMs } = seen;
    const kept = await Promise.all(
      [sessions.living, sessions.spent].map(async ({ id }) => fleet.store.peek(id)),
    );
    reportFault({
      fault: `Redis ${how}`,
      responses,
      sessionsLost: kept.filter((found) => found === null).length,
      recoveredInMs: recoveredInMs.api,
    });
    expect(kept).not.toContain(null);
    expect(tally(responses)).not.toHaveProperty('401 session_expired');
    expect(responses.filter(({ status }) => ![200, 302, 303, 503].includes(status))).toEqual([]);
    const tooLate = Object.entries(recoveredInMs).filter(([, ms]) => ms > RECOVERS_WITHIN_MS);
    expect(tooLate).toEqual([]);
  });
});
