import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createDeferred } from '../../../src/promises.ts';
import { send, tally, type FleetResponse } from '../../support/fleet/requests.ts';
import type { LogLine } from '../../support/fleet/cloakroom.ts';
import { startFleet, type TestSession, type Fleet } from '../../support/fleet/fleet.ts';
import { reportFault } from '../../support/fleet/report.ts';
import { eventually } from '../../support/eventually.ts';

/** A lock expires at most 5 s after its holder is killed. The next holder waits another 3.5 s for a heartbeat. */
const RECOVERS_WITHIN_MS = 12_000;
const WAITING = 20;

/** A session whose refresh was interrupted, and the responses from the surviving process. */
interface Interrupted {
  readonly session: TestSession;
  readonly responses: readonly FleetResponse[];
}

/** A fleet in which one of two processes was killed while it refreshed two sessions. */
interface Crashed {
  readonly fleet: Fleet;
  /** The session whose token request the service had received but not handled. */
  readonly unhandled: Interrupted;
  /** The session whose token response the process had not read. */
  readonly unread: Interrupted;
}

async function killRefreshing(rotate: 'true' | 'false'): Promise<Crashed> {
  const fleet = await startFleet({ processes: 2, service: { LOCAL_SERVICE_ROTATE_REFRESH: rotate } });
  const unhandled = await fleet.createSession('unhandled', { expiresAt: 0 });
  const unread = await fleet.createSession('unread', { expiresAt: 0 });
  const holder = fleet.at(0);

  const received = createDeferred<void>();
  const responded = createDeferred<void>();
  fleet.service.intercept = async (_req, res, refreshToken) => {
    if (refreshToken === unhandled.grant.refreshToken) {
      received.resolve();
      return true; // never responds
    }
    await received.promise;
    process.kill(holder.pid, 'SIGSTOP'); // keeps the process from reading the response
    res.once('finish', responded.resolve);
    return false;
  };
  for (const { cookie } of [unhandled, unread]) void send(holder.url, cookie);
  await responded.promise;
  await holder.kill();
  fleet.service.intercept = () => false;
  const sendMany = async (session: TestSession): Promise<Interrupted> => {
    const requests = Array.from({ length: WAITING }, async () => send(fleet.at(1).url, session.cookie));
    return { session, responses: await Promise.all(requests) };
  };
  const [first, second] = await Promise.all([sendMany(unhandled), sendMany(unread)]);
  return { fleet, unhandled: first, unread: second };
}

// Test both fleets at the same time, because each has to wait for a lock to expire.
let crashes: Readonly<Record<'on' | 'off', Crashed>>;
beforeAll(async () => {
  const [on, off] = await Promise.all([killRefreshing('true'), killRefreshing('false')]);
  crashes = { on, off };
});
afterAll(async () => {
  await Promise.all(Object.values(crashes).map(async ({ fleet }) => fleet[Symbol.asyncDispose]()));
});

const slowest = (responses: readonly FleetResponse[]) => Math.max(...responses.map(({ ms }) => ms));

/** Waits until the surviving process has logged this many lines with this message, and returns the lines. */
async function linesOf({ fleet }: Crashed, msg: string, count: number): Promise<LogLine[]> {
  const lines = () =>
    fleet
      .at(1)
      .logged()
      .filter((line) => line.msg === msg);
  await eventually(async () => lines().length >= count);
  return lines();
}

test.each(['on', 'off'] as const)(
  'with rotation %s, killing a process before the service responds causes one extra token request',
  async (rotation) => {
    const { fleet, unhandled } = crashes[rotation];
    const { session, responses } = unhandled;
    reportFault(`kill -9 of the refreshing process before the response, rotation ${rotation}`, responses);
    expect(tally(responses)).toEqual({ 200: WAITING });
    expect(slowest(responses)).toBeLessThan(RECOVERS_WITHIN_MS);
    expect(fleet.refreshesOf(session)).toHaveLength(2);
    const lines = await linesOf(crashes[rotation], 'token refreshed by a later attempt', 1);
    expect(lines).toContainEqual(expect.objectContaining({ attemptBefore: 'interrupted' }));
  },
);

test('with rotation off, killing a process after the service has responded does not end any session', () => {
  const { responses } = crashes.off.unread;
  reportFault('kill -9 of the refreshing process after the response, rotation off', responses);
  expect(tally(responses)).toEqual({ 200: WAITING });
});

describe('with rotation on, killing a process after the service has responded', () => {
  test('ends the session within a time limit, and the response gives the reason', () => {
    const { responses } = crashes.on.unread;
    reportFault('kill -9 of the refreshing process after the response, rotation on', responses, {
      sessionsLost: 1,
    });
    expect(tally(responses)).toEqual({ '401 session_expired': WAITING });
    expect(slowest(responses)).toBeLessThan(RECOVERS_WITHIN_MS);
    const explained = responses.find(({ body }) => body.includes('no longer has access to your account'));
    expect(JSON.parse(explained?.body ?? '{}')).toMatchObject({
      detail: 'Cloakroom no longer has access to your account at the service. Sign in again to continue.',
      loginUrl: '/auth/login',
    });
  });

  test('is distinguished from a revoked grant in the log', async () => {
    const { fleet } = crashes.on;
    expect(await linesOf(crashes.on, 'session ended', 1)).toMatchObject([
      { reason: 'invalid_grant', attemptBefore: 'interrupted' },
    ]);
    const revoked = await fleet.createSession('revoked', { expiresAt: 0 });
    await fleet.service.revokeGrant(revoked.grant.accessToken);
    expect(await send(fleet.at(1).url, revoked.cookie)).toMatchObject({ code: 'session_expired' });
    const [, line] = await linesOf(crashes.on, 'session ended', 2);
    expect(line).toMatchObject({ reason: 'invalid_grant' });
    expect(line).not.toHaveProperty('attemptBefore');
  });

  test('makes pages redirect to sign-in without another token request', async () => {
    const { fleet, unread } = crashes.on;
    const before = fleet.refreshesOf(unread.session).length;
    for (let count = 0; count < 3; count += 1) {
      const page = await send(fleet.at(1).url, unread.session.cookie, { path: '/workspaces' });
      expect([page.status, page.headers['location']]).toEqual([303, '/auth/login?return_to=%2Fworkspaces']);
    }
    expect(fleet.refreshesOf(unread.session)).toHaveLength(before);
  });
});
