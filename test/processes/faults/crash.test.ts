import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createDeferred } from '../../../src/promises.ts';
import { send, tally, type FleetResponse } from '../../support/fleet/requests.ts';
import type { LogLine } from '../../support/fleet/cloakroom.ts';
import { startFleet, type TestSession, type Fleet } from '../../support/fleet/fleet.ts';
import { reportFault } from '../../support/fleet/report.ts';
import { eventually } from '../../support/eventually.ts';

/** A lock lives five seconds past its holder, and the next one gives a response that may be on its way three and a half more. */
const RECOVERS_WITHIN_MS = 12_000;
const WAITING = 20;
const MADE_GOOD = 'token refreshed by a later attempt';

/** A session whose refresh was interrupted, and the responses of the surviving process. */
interface BrokenOff {
  readonly session: TestSession;
  responses: FleetResponse[];
}

interface Killed {
  readonly fleet: Fleet;
  /** The service had the refresh, and did not handle it. */
  readonly unheard: BrokenOff;
  /** The service had responded, and the process did not read it. */
  readonly unread: BrokenOff;
}

/** Kills a process that refreshes two sessions, and sends many requests of both to the other one. */
async function killHolder(rotate: 'true' | 'false'): Promise<Killed> {
  const fleet = await startFleet({ processes: 2, service: { LOCAL_SERVICE_ROTATE_REFRESH: rotate } });
  const unheard: BrokenOff = {
    session: await fleet.createSession('unheard', { expiresAt: 0 }),
    responses: [],
  };
  const unread: BrokenOff = { session: await fleet.createSession('unread', { expiresAt: 0 }), responses: [] };
  const holder = fleet.at(0);

  const received = createDeferred<void>();
  const responded = createDeferred<void>();
  fleet.service.intercept = async (_req, res, refreshToken) => {
    if (refreshToken === unheard.session.grant.refreshToken) {
      received.resolve();
      return true; // never
    }
    await received.promise;
    process.kill(holder.pid, 'SIGSTOP'); // so that it can’t read the response of the service
    res.once('finish', responded.resolve);
    return false;
  };
  for (const { session } of [unheard, unread]) void send(holder.url, session.cookie);
  await responded.promise;
  await holder.kill();
  fleet.service.intercept = () => false;
  await Promise.all(
    [unheard, unread].map(async (broken) => {
      const { cookie } = broken.session;
      const calls = Array.from({ length: WAITING }, async () => send(fleet.at(1).url, cookie));
      broken.responses = await Promise.all(calls);
    }),
  );
  return { fleet, unheard, unread };
}

// Both wait for a lock to expire: at the same time.
let withRotation: Killed;
let withoutRotation: Killed;
beforeAll(async () => {
  [withRotation, withoutRotation] = await Promise.all([killHolder('true'), killHolder('false')]);
});
afterAll(async () => {
  await Promise.all([withRotation, withoutRotation].map(async ({ fleet }) => fleet[Symbol.asyncDispose]()));
});

let fleet: Fleet;
let unheard: BrokenOff;
let unread: BrokenOff;
const survivor = () => fleet.at(1);

const slowest = (responses: readonly FleetResponse[]) => Math.max(...responses.map(({ ms }) => ms));
const refreshCount = ({ session }: BrokenOff) => fleet.refreshesOf(session).length;
/** All lines with this message, once there are this many. */
async function logged(msg: string, many: number): Promise<LogLine[]> {
  const lines = () =>
    survivor()
      .logged()
      .filter((line) => line.msg === msg);
  await eventually(async () => lines().length >= many);
  return lines();
}

function report(fault: string, { responses }: BrokenOff, sessionsLost: number): void {
  reportFault({ fault, responses, sessionsLost });
}

describe.each(['off', 'on'])('kill -9 of a refreshing process, with rotation %s', (rotation) => {
  beforeAll(() => {
    ({ fleet, unheard, unread } = rotation === 'on' ? withRotation : withoutRotation);
  });

  test('before the response of the service costs nothing: waiting requests succeed after one more token request', async () => {
    report(`kill -9 of the refreshing process before the response, rotation ${rotation}`, unheard, 0);
    expect(tally(unheard.responses)).toEqual({ 200: WAITING });
    expect(slowest(unheard.responses)).toBeLessThan(RECOVERS_WITHIN_MS);
    expect(refreshCount(unheard)).toBe(2);
    expect(await logged(MADE_GOOD, 1)).toContainEqual(
      expect.objectContaining({ attemptBefore: 'interrupted' }),
    );
  });

  if (rotation === 'off') {
    test('after the response of the service costs nothing, since the refresh token can be used again', () => {
      report('kill -9 of the refreshing process after the response, rotation off', unread, 0);
      expect(tally(unread.responses)).toEqual({ 200: WAITING });
    });
    return;
  }

  test('after the response of the service ends the session in bounded time, and the response says why', () => {
    report('kill -9 of the refreshing process after the response, rotation on', unread, 1);
    expect(tally(unread.responses)).toEqual({ '401 session_expired': WAITING });
    expect(slowest(unread.responses)).toBeLessThan(RECOVERS_WITHIN_MS);
    const explained = unread.responses.filter(({ body }) => body.includes('no longer takes the access'));
    expect(explained.length).toBeGreaterThan(0);
    expect(JSON.parse(explained[0]?.body ?? '')).toMatchObject({
      detail: 'The service no longer takes the access that you gave. Sign in again to go on.',
      loginUrl: '/auth/login',
    });
  });

  test('the log distinguishes that end from one by a revoked grant', async () => {
    expect(await logged('session ended', 1)).toMatchObject([
      { reason: 'invalid_grant', attemptBefore: 'interrupted' },
    ]);
    const revoked = await fleet.createSession('revoked', { expiresAt: 0 });
    await fleet.service.revokeGrant(revoked.grant.accessToken);
    expect(await send(survivor().url, revoked.cookie)).toMatchObject({ code: 'session_expired' });
    const [, line] = await logged('session ended', 2);
    expect(line).toMatchObject({ reason: 'invalid_grant' });
    expect(line).not.toHaveProperty('attemptBefore');
  });

  test('pages of an ended session redirect to sign-in, and cause no token request', async () => {
    const before = refreshCount(unread);
    for (let count = 0; count < 3; count += 1) {
      const page = await send(survivor().url, unread.session.cookie, { path: '/workspaces' });
      expect([page.status, page.headers['location']]).toEqual([303, '/auth/login?return_to=%2Fworkspaces']);
    }
    expect(refreshCount(unread)).toBe(before);
  });
});
