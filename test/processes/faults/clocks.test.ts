import { afterEach, describe, expect, test } from '@jest/globals';
import { sessionKey } from '../../../src/session/store.ts';
import { eventually } from '../../support/eventually.ts';
import { send, tally } from '../../support/fleet/requests.ts';
import { useFleet, type TestSession } from '../../support/fleet/fleet.ts';
import { reportFault } from '../../support/fleet/report.ts';

const FIVE_MINUTES_MS = 300_000;
const IDLE_SECONDS = 1_800;
const MAX_SECONDS = 7_200;

const fleet = useFleet({
  processes: 2,
  env: { SESSION_IDLE_SECONDS: String(IDLE_SECONDS), SESSION_MAX_SECONDS: String(MAX_SECONDS) },
  service: { LOCAL_SERVICE_ROTATE_REFRESH: 'true' },
});
afterEach(async () => {
  fleet.service.refreshes.length = 0;
  await setClocks(0, 0);
});

const setClocks = async (...skews: number[]) =>
  Promise.all(skews.map(async (skewMs, at) => fleet.at(at).setClock(skewMs)));
const sendTimes = async (times: number, { cookie }: TestSession) => {
  const responses = [];
  for (let count = 0; count < times; count += 1) responses.push(await send(fleet.at(count).url, cookie));
  return responses;
};
const keyOf = ({ id }: TestSession) => sessionKey('cloakroom:', id);
const sessionStatus = async ({ cookie }: TestSession) =>
  JSON.parse((await send(fleet.at(0).url, cookie, { path: '/auth/session' })).body) as Record<
    string,
    unknown
  >;

describe.each([
  ['five minutes ahead of', FIVE_MINUTES_MS],
  ['five minutes behind', -FIVE_MINUTES_MS],
])('clocks %s the service’s', (words, skewMs) => {
  test('a refreshed token is used for its whole lifetime', async () => {
    await setClocks(skewMs, skewMs);
    const session = await fleet.createSession('demo', { expiresAt: 0 });
    const responses = await sendTimes(40, session);
    reportFault({ fault: `clock ${words} the service’s`, responses, sessionsLost: 0 });
    expect(tally(responses)).toEqual({ 200: 40 });
    expect(fleet.service.refreshes).toHaveLength(1);
  });

  test('a token that the service refuses is refreshed at its first 401', async () => {
    await setClocks(skewMs, skewMs);
    const session = await fleet.createSession();
    await fleet.service.revokeAccess(session.grant.accessToken);
    expect(tally(await sendTimes(10, session))).toEqual({ 200: 10 });
    expect(fleet.service.refreshes).toHaveLength(1);
  });
});

test('two processes with clocks ten minutes apart do not refresh each other’s tokens', async () => {
  await setClocks(FIVE_MINUTES_MS, -FIVE_MINUTES_MS);
  const session = await fleet.createSession('demo', { expiresAt: 0 });
  expect(tally(await sendTimes(20, session))).toEqual({ 200: 20 });
  const stored = await fleet.storedGrant(session);
  await fleet.service.revokeAccess(stored?.accessToken ?? '');
  // This time the other process refreshes.
  await send(fleet.at(1).url, session.cookie);
  expect(tally(await sendTimes(20, session))).toEqual({ 200: 20 });
  expect(fleet.service.refreshes).toHaveLength(2);
});

describe('the maximum age', () => {
  test('ends a used session for good', async () => {
    const session = await fleet.createSession();
    await setClocks(MAX_SECONDS * 1_000 - FIVE_MINUTES_MS);
    expect((await send(fleet.at(0).url, session.cookie)).status).toBe(200);
    await setClocks(MAX_SECONDS * 1_000);
    expect(await send(fleet.at(0).url, session.cookie)).toMatchObject({
      status: 401,
      code: 'session_expired',
    });
    await setClocks(0);
    expect(tally(await sendTimes(2, session))).toEqual({ '401 session_expired': 2 });
  });

  test('is in the response of /auth/session', async () => {
    const session = await fleet.createSession();
    const stored = await fleet.store.peek(session.id);
    const { expiresAt } = await sessionStatus(session);
    const began = Date.parse(String(expiresAt)) - MAX_SECONDS * 1_000;
    expect(began).toBe(stored?.session.record.createdAt);
  });
});

describe('the idle time', () => {
  test('starts anew with an API request and with a page, in one command each', async () => {
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
        .filter((line) => !OF_THE_TEST.test(line));
      expect(sent).toEqual(['getex 1']);
      expect(await fleet.redis.ttl(keyOf(session))).toBeGreaterThan(IDLE_SECONDS - 120);
    }
  });

  test('does not start anew with /auth/session', async () => {
    const session = await fleet.createSession();
    await fleet.redis.expire(keyOf(session), 100);
    for (let count = 0; count < 5; count += 1) {
      const { signedIn, idleExpiresAt } = await sessionStatus(session);
      expect(signedIn).toBe(true);
      expect(Date.parse(String(idleExpiresAt)) - Date.now()).toBeLessThanOrEqual(100_000);
    }
    expect(await fleet.redis.ttl(keyOf(session))).toBeLessThanOrEqual(100);
  });

  test('ends the session when it is over', async () => {
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

/** Commands of the test itself and of its connection. */
const OF_THE_TEST = /^(?:config|info|ttl|expire|client|ping|command)/;
