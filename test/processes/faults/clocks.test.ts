import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { hashId } from '../../../src/session/store.ts';
import { eventually } from '../../support/eventually.ts';
import { send, closeConnections, tally } from '../../support/fleet/requests.ts';
import { startFleet } from '../../support/fleet/fleet.ts';
import type { TestSession, Fleet } from '../../support/fleet/fleet.ts';
import { reportFault } from '../../support/fleet/report.ts';

const FIVE_MINUTES_MS = 300_000;
const IDLE_SECONDS = 1_800;
const MAX_SECONDS = 7_200;

let fleet: Fleet;
beforeAll(async () => {
  const env = { SESSION_IDLE_SECONDS: String(IDLE_SECONDS), SESSION_MAX_SECONDS: String(MAX_SECONDS) };
  fleet = await startFleet({ processes: 2, env, service: { LOCAL_SERVICE_ROTATE_REFRESH: 'true' } });
});
afterAll(async () => {
  await closeConnections();
  await fleet[Symbol.asyncDispose]();
});
afterEach(async () => {
  fleet.service.refreshes.length = 0;
  await setClocks(0, 0);
});

const setClocks = async (...skews: number[]) =>
  Promise.all(skews.map(async (skewMs, at) => fleet.at(at).setClock(skewMs)));
const callTimes = async (times: number, { cookie }: TestSession) => {
  const responses = [];
  for (let count = 0; count < times; count += 1) responses.push(await send(fleet.at(count).url, cookie));
  return responses;
};
const keyOf = ({ id }: TestSession) => `cloakroom:session:${hashId(id)}`;
const sessionStatus = async ({ cookie }: TestSession) =>
  JSON.parse((await send(fleet.at(0).url, cookie, { path: '/auth/session' })).body) as Record<
    string,
    unknown
  >;

describe.each([
  ['five minutes ahead of', FIVE_MINUTES_MS],
  ['five minutes behind', -FIVE_MINUTES_MS],
])('clocks %s the service’s', (words, skewMs) => {
  test('a token that is renewed is used for its whole life', async () => {
    await setClocks(skewMs, skewMs);
    const session = await fleet.createSession('demo', { expiresAt: 0 });
    const responses = await callTimes(40, session);
    reportFault({ fault: `clock ${words} the service’s`, responses, sessionsLost: 0 });
    expect(tally(responses)).toEqual({ 200: 40 });
    expect(fleet.service.refreshes).toHaveLength(1);
  });

  test('a token that the service takes for spent is renewed at its first 401', async () => {
    await setClocks(skewMs, skewMs);
    const session = await fleet.createSession();
    await fleet.service.revokeAccess(session.grant.accessToken);
    expect(tally(await callTimes(10, session))).toEqual({ 200: 10 });
    expect(fleet.service.refreshes).toHaveLength(1);
  });
});

test('two processes ten minutes apart do not renew each other’s tokens', async () => {
  await setClocks(FIVE_MINUTES_MS, -FIVE_MINUTES_MS);
  const session = await fleet.createSession('demo', { expiresAt: 0 });
  expect(tally(await callTimes(20, session))).toEqual({ 200: 20 });
  const stored = await fleet.store.peek(session.id);
  await fleet.service.revokeAccess(stored?.session.record.grant.accessToken ?? '');
  // This time the other one renews.
  await send(fleet.at(1).url, session.cookie);
  expect(tally(await callTimes(20, session))).toEqual({ 200: 20 });
  expect(fleet.service.refreshes).toHaveLength(2);
});

describe('the absolute age', () => {
  test('ends a session however much it is used, and for good', async () => {
    const session = await fleet.createSession();
    await setClocks(MAX_SECONDS * 1_000 - FIVE_MINUTES_MS);
    expect((await send(fleet.at(0).url, session.cookie)).status).toBe(200);
    await setClocks(MAX_SECONDS * 1_000);
    expect(await send(fleet.at(0).url, session.cookie)).toMatchObject({
      status: 401,
      code: 'session_expired',
    });
    await setClocks(0);
    expect(tally(await callTimes(2, session))).toEqual({ '401 session_expired': 2 });
  });

  test('is what /auth/session tells', async () => {
    const session = await fleet.createSession();
    const stored = await fleet.store.peek(session.id);
    const { expiresAt } = await sessionStatus(session);
    const began = Date.parse(String(expiresAt)) - MAX_SECONDS * 1_000;
    expect(began).toBe(stored?.session.record.createdAt);
  });
});

describe('the idle age', () => {
  test('slides with a call and with a page, in one command each', async () => {
    const session = await fleet.createSession();
    for (const path of ['/api/public/v1/me', '/']) {
      await fleet.redis.expire(keyOf(session), 100);
      await fleet.redis.config('RESETSTAT');
      await send(fleet.at(0).url, session.cookie, { path });
      const commands = [
        ...(await fleet.redis.info('commandstats')).matchAll(/cmdstat_([\w|]+):calls=(\d+)/g),
      ];
      const sent = commands
        .map(([, name, calls]) => `${name} ${calls}`)
        .filter((line) => !OUR_OWN.test(line));
      expect(sent).toEqual(['getex 1']);
      expect(await fleet.redis.ttl(keyOf(session))).toBeGreaterThan(IDLE_SECONDS - 120);
    }
  });

  test('does not slide however often /auth/session is asked', async () => {
    const session = await fleet.createSession();
    await fleet.redis.expire(keyOf(session), 100);
    for (let count = 0; count < 5; count += 1) {
      const { signedIn, idleExpiresAt } = await sessionStatus(session);
      expect(signedIn).toBe(true);
      expect(Date.parse(String(idleExpiresAt)) - Date.now()).toBeLessThanOrEqual(100_000);
    }
    expect(await fleet.redis.ttl(keyOf(session))).toBeLessThanOrEqual(100);
  });

  test('that has run out is the end of the session', async () => {
    const session = await fleet.createSession();
    await fleet.redis.pexpire(keyOf(session), 20);
    await eventually(async () => (await fleet.redis.exists(keyOf(session))) === 0);
    expect(await send(fleet.at(0).url, session.cookie)).toMatchObject({
      status: 401,
      code: 'session_expired',
    });
    expect(await sessionStatus(session)).toEqual({ signedIn: false });
  });
});

/** What the test itself sends, and the connection's own. */
const OUR_OWN = /^(?:config|info|ttl|expire|client|ping|command)/;
