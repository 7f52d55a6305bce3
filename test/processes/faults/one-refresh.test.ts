import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { TOKEN_AGE_MS, TOKEN_PATH } from '../../support/constants.ts';
import { startFleet, useFleet, type Fleet } from '../../support/fleet/fleet.ts';
import { reportFault } from '../../support/fleet/report.ts';
import { send, tally } from '../../support/fleet/requests.ts';

const REQUESTS = 200;
const TOKEN_LATENCY_MS = 400;
/** Allows for a busy machine, and for processes that poll for the result of a refresh in another process. */
const BOUNDED_WAIT_MS = 5_000;

// The service rotates its refresh tokens, so a second refresh after the same expiry would end the session.
const fleet = useFleet({ processes: 4, service: { LOCAL_SERVICE_ROTATE_REFRESH: 'true' } });
afterEach(() => fleet.service.reset());

const sendAll = async (cookie: string, requests: number, given = fleet) =>
  Promise.all(Array.from({ length: requests }, async (_, at) => send(given.at(at).url, cookie)));

test('200 requests for a session with an expired token cause one token request, and succeed soon after its response', async () => {
  const used = new Set<string | undefined>();
  fleet.service.intercept = async ({ url, headers }) => {
    if (url === TOKEN_PATH) await delay(TOKEN_LATENCY_MS);
    else used.add(headers.authorization);
    return false;
  };
  const session = await fleet.createSession('demo', { expiresAt: 0 });
  const responses = await sendAll(session.cookie, REQUESTS);
  reportFault('200 simultaneous requests at an expiry, rotation on', responses, {
    sessionsLost: await fleet.countLostSessions([session]),
  });
  expect(tally(responses)).toEqual({ 200: REQUESTS });
  expect(fleet.service.refreshes).toHaveLength(1);
  expect(Math.max(...responses.map(({ ms }) => ms))).toBeLessThan(TOKEN_LATENCY_MS + BOUNDED_WAIT_MS);
  const stored = await fleet.storedGrant(session);
  expect([...used]).toEqual([`Bearer ${stored?.accessToken}`]);
  expect(stored?.accessToken).not.toBe(session.grant.accessToken);
});

test('200 requests with the same refused token cause one token request', async () => {
  const { cookie, grant } = await fleet.createSession();
  await fleet.service.revokeAccess(grant.accessToken);
  const responses = await sendAll(cookie, REQUESTS);
  reportFault('200 simultaneous requests with a refused token, rotation on', responses);
  expect(tally(responses)).toEqual({ 200: REQUESTS });
  expect(fleet.service.refreshes).toHaveLength(1);
});

/** Resolves with the refresh tokens presented at three successive expiries. */
async function refreshThrice(given: Fleet): Promise<string[]> {
  const session = await given.createSession('demo', { expiresAt: 0 });
  const setClocks = async (skewMs: number) =>
    Promise.all(given.processes.map(async (cloakroom) => cloakroom.setClockSkew(skewMs)));
  for (let round = 0; round < 3; round += 1) {
    expect(tally(await sendAll(session.cookie, 40, given))).toEqual({ 200: 40 });
    const stored = await given.storedGrant(session);
    await given.service.revokeAccess(stored?.accessToken ?? '');
    await setClocks((round + 1) * TOKEN_AGE_MS);
  }
  await setClocks(0);
  return given.service.refreshes.map(({ refreshToken }) => refreshToken);
}

test('Cloakroom presents each rotated refresh token only once', async () => {
  const presented = await refreshThrice(fleet);
  expect(presented).toHaveLength(3);
  expect(new Set(presented).size).toBe(3);
});

test('without rotation, Cloakroom presents the refresh token once per expiry', async () => {
  await using fixed = await startFleet({ processes: 2, service: { LOCAL_SERVICE_ROTATE_REFRESH: 'false' } });
  const presented = await refreshThrice(fixed);
  expect(presented).toHaveLength(3);
  expect(new Set(presented).size).toBe(1);
});
