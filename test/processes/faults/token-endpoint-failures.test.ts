import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { sessionScopedKey } from '../../../src/session/store.ts';
import { ACCEPT_HTML, TOKEN_PATH } from '../../support/constants.ts';
import { send, startLoad, tally } from '../../support/fleet/requests.ts';
import { reportFault } from '../../support/fleet/report.ts';
import { useFleet, type TestSession } from '../../support/fleet/fleet.ts';
import { eventually } from '../../support/eventually.ts';
import { startStopwatch } from '../../support/stopwatch.ts';

/** After a failure, the next refresh starts within 2 s. The margin allows for a busy machine. */
const RECOVERS_WITHIN_MS = 5_000;

const SESSIONS = 40;
/** Short enough that a refresh starts as soon as Cloakroom allows one. */
const PAUSE_MS = 80;
/** The interquartile range is usually 250 ms, and was never below this value in a million draws. */
const SPREAD_OVER_MS = 60;

const fleet = useFleet({ processes: 2 });
afterEach(() => fleet.service.reset());

// token-endpoint-outage.test.ts checks that other errors do not end the session.
test.each([200, 400, 401, 500, 503])('invalid_grant with status %i ends the session', async (status) => {
  fleet.service.intercept = ({ url }, res) =>
    url === TOKEN_PATH && Boolean(res.writeHead(status).end('{"error":"invalid_grant"}'));
  const session = await fleet.createSession('demo', { expiresAt: 0 });
  const { cookie } = session;
  const [here = '', there = ''] = fleet.processes.map(({ url }) => url);
  expect(await send(here, cookie)).toMatchObject({ status: 401, code: 'session_expired' });
  expect(await fleet.storedGrant(session)).toBeNull();
  expect(await send(there, cookie)).toMatchObject({ status: 401, code: 'session_expired' });
  const page = await send(there, cookie, { path: '/workspaces', headers: ACCEPT_HTML });
  expect([page.status, page.headers['location']]).toEqual([303, '/auth/login?return_to=%2Fworkspaces']);
  expect((await send(there, cookie, { path: '/auth/session' })).body).toBe('{"signedIn":false}');
  expect(fleet.refreshesOf(session)).toHaveLength(1);
});

test('no session ends while the service refuses connections, and requests succeed once it accepts connections again', async () => {
  const expired = await fleet.createSession('demo', { expiresAt: 0 });
  const unexpired = await fleet.createSession('demo', { expiresAt: Date.now() + 30_000 });
  await fleet.service.stopListening();
  const load = startLoad(4, async (count) => {
    await delay(20);
    return send(fleet.at(count).url, (count % 4 < 2 ? expired : unexpired).cookie);
  });
  await Promise.all([load.next(502), load.next(503)]);
  const [page, status] = await Promise.all([
    send(fleet.at(0).url, expired.cookie, { path: '/workspaces', headers: ACCEPT_HTML }),
    send(fleet.at(1).url, expired.cookie, { path: '/auth/session' }),
  ]);
  const during = tally(load.responses);

  await fleet.service.listenAgain();
  using over = startStopwatch();
  await load.next(200);
  const recoveredInMs = over.ms();
  const responses = await load.stop();
  const sessionsLost = await fleet.countLostSessions([expired, unexpired]);
  reportFault('service refuses connections', responses, { sessionsLost, recoveredInMs });
  // Requests with an unexpired token get the 502, because they need no refresh.
  const kinds = Object.keys(during).toSorted();
  expect(kinds).toEqual(['502 service_unreachable', '503 token_endpoint_unavailable']);
  expect(page).toMatchObject({ status: 503, body: expect.stringContaining('Try again') });
  expect(JSON.parse(status.body)).toMatchObject({ signedIn: true });
  expect(responses.filter(({ headers }) => headers['set-cookie'] !== undefined)).toEqual([]);
  expect(sessionsLost).toBe(0);
  expect(recoveredInMs).toBeLessThan(RECOVERS_WITHIN_MS);
});

test('sessions whose refreshes failed at the same time are refreshed at different times', async () => {
  const sessions = await Promise.all(
    Array.from({ length: SESSIONS }, async (_, at) => fleet.createSession(`user-${at}`, { expiresAt: 0 })),
  );
  fleet.service.intercept = ({ url, socket }) => url === TOKEN_PATH && Boolean(socket.destroy());
  const loads = sessions.map(({ cookie }) =>
    startLoad(1, async (count) => {
      if (count > 0) await delay(PAUSE_MS);
      return send(fleet.at(count).url, cookie);
    }),
  );
  const coolDowns = await Promise.all(
    sessions.map(async (session, at) => {
      await loads[at]?.next(503);
      return coolDownOf(session);
    }),
  );

  fleet.service.intercept = () => false;
  const over = performance.now();
  await Promise.race(loads.map(async (load) => load.next(200)));
  const recoveredInMs = performance.now() - over;
  await Promise.all(loads.map(async (load) => load.next(200)));
  const responses = (await Promise.all(loads.map(async (load) => load.stop()))).flat();
  const sessionsLost = await fleet.countLostSessions(sessions);
  reportFault(`token endpoint down for ${SESSIONS} sessions`, responses, {
    sessionsLost,
    recoveredInMs,
  });
  const later = fleet.service.refreshes.filter(({ at }) => at >= over);
  const afterwards = later.map(({ refreshToken }) => refreshToken);
  expect(afterwards).toHaveLength(new Set(afterwards).size);
  expect(spread(coolDowns)).toBeGreaterThan(SPREAD_OVER_MS);
});

/** Resolves with the time from the last failed refresh of a session until its lock expires, in ms. */
async function coolDownOf(session: TestSession): Promise<number> {
  const lock = sessionScopedKey('cloakroom:', 'refresh-lock', session.id);
  let leftMs = 0;
  // Poll, because the response does not wait for the clean-up, and another refresh may already have started.
  await eventually(async () => {
    const [owner, ms] = await Promise.all([fleet.redis.get(lock), fleet.redis.pttl(lock)]);
    leftMs = ms;
    return owner === 'cooling' && ms > 0;
  });
  return performance.now() + leftMs - (fleet.refreshesOf(session).at(-1)?.at ?? NaN);
}

/** Returns the interquartile range. */
function spread(times: readonly number[]): number {
  const inOrder = times.toSorted((a, b) => a - b);
  const at = (part: number) => inOrder[Math.floor(inOrder.length * part)] ?? NaN;
  return at(0.75) - at(0.25);
}
