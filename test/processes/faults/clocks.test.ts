import { afterEach, describe, expect, test } from '@jest/globals';
import { send, tally } from '../../support/fleet/requests.ts';
import { useFleet, type TestSession } from '../../support/fleet/fleet.ts';
import { reportFault } from '../../support/fleet/report.ts';

const FIVE_MINUTES_MS = 300_000;

const fleet = useFleet({ processes: 2, service: { LOCAL_SERVICE_ROTATE_REFRESH: 'true' } });
afterEach(async () => {
  fleet.service.refreshes.length = 0;
  await setClocks(0, 0);
});

const setClocks = async (...skews: number[]) =>
  Promise.all(skews.map(async (skewMs, at) => fleet.at(at).setClockSkew(skewMs)));
/** Sends requests one after another, alternating between the two processes. */
const sendMany = async (requests: number, { cookie }: TestSession) => {
  const responses = [];
  for (let at = 0; at < requests; at += 1) responses.push(await send(fleet.at(at).url, cookie));
  return responses;
};

describe.each([
  ['5 minutes ahead of', FIVE_MINUTES_MS],
  ['5 minutes behind', -FIVE_MINUTES_MS],
])('with clocks %s the service’s', (words, skewMs) => {
  test('Cloakroom refreshes an expired token only once', async () => {
    await setClocks(skewMs, skewMs);
    const session = await fleet.createSession('demo', { expiresAt: 0 });
    const responses = await sendMany(40, session);
    reportFault(`clock ${words} the service’s`, responses);
    expect(tally(responses)).toEqual({ 200: 40 });
    expect(fleet.service.refreshes).toHaveLength(1);
  });

  test('Cloakroom refreshes a token after its first 401', async () => {
    await setClocks(skewMs, skewMs);
    const session = await fleet.createSession();
    await fleet.service.revokeAccess(session.grant.accessToken);
    expect(tally(await sendMany(10, session))).toEqual({ 200: 10 });
    expect(fleet.service.refreshes).toHaveLength(1);
  });
});

test('two processes with clocks ten minutes apart refresh each token only once', async () => {
  await setClocks(FIVE_MINUTES_MS, -FIVE_MINUTES_MS);
  const session = await fleet.createSession('demo', { expiresAt: 0 });
  expect(tally(await sendMany(20, session))).toEqual({ 200: 20 });
  const stored = await fleet.storedGrant(session);
  await fleet.service.revokeAccess(stored?.accessToken ?? '');
  // Send a request to the second process first, so that it performs the next refresh.
  await send(fleet.at(1).url, session.cookie);
  expect(tally(await sendMany(20, session))).toEqual({ 200: 20 });
  expect(fleet.service.refreshes).toHaveLength(2);
});
