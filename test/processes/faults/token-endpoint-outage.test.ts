import { beforeAll, describe, expect, test } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { sessionLogId } from '../../../src/session/events.ts';
import { ACCEPT_HTML } from '../../support/constants.ts';
import { send, startLoad, tally, type FleetResponse, type Load } from '../../support/fleet/requests.ts';
import { reportFault } from '../../support/fleet/report.ts';
import { useFleet, type TestSession } from '../../support/fleet/fleet.ts';
import { eventually } from '../../support/eventually.ts';
import { OUTAGES, breakTokenEndpoint } from '../../support/fleet/token-endpoint-outages.ts';
import { startStopwatch } from '../../support/stopwatch.ts';

const REQUEST_EVERY_MS = 250;
/** Long enough for a busy machine. */
const TOKEN_TIMEOUT_SECONDS = 2;
/** A refresh takes this timeout at most, and another follows two seconds later; the rest is for a busy machine. */
const RECOVERS_WITHIN_MS = 1_000 * TOKEN_TIMEOUT_SECONDS + 5_000;
/** The longest possible for tokens that live a quarter of an hour: none expires during the outages. */
const REFRESH_AHEAD_SECONDS = 300;
const EXPIRES_IN_MS = 290_000;
/** Redis counts the time between two refreshes, and the log reports it. */
const TIMER_SLACK_MS = 100;

/** A session that clients use at both processes, during an outage and until it is over. */
interface ObservedSession {
  readonly session: TestSession;
  readonly load: Load;
  readonly during: readonly FleetResponse[];
}

/** All outages happen at the same time, each to sessions of its own. */
interface ObservedOutage {
  readonly expired: ObservedSession;
  /** Its token expires within REFRESH_AHEAD_SECONDS. */
  readonly expiring: ObservedSession;
  readonly page: FleetResponse;
  readonly status: FleetResponse;
  recoveredInMs: number;
}

const fleet = useFleet({
  processes: 2,
  env: {
    TOKEN_TIMEOUT_SECONDS: String(TOKEN_TIMEOUT_SECONDS),
    REFRESH_AHEAD_SECONDS: String(REFRESH_AHEAD_SECONDS),
  },
});
const observed = new Map<string, ObservedOutage>();

beforeAll(async () => {
  const outages = new Map<string, (typeof OUTAGES)[string]>();
  breakTokenEndpoint(fleet.service, outages);
  const observe = async ([how, outage]: [string, (typeof OUTAGES)[string]]) => {
    const expired = await fleet.createSession(how, { expiresAt: 0 });
    const expiring = await fleet.createSession(how, { expiresAt: Date.now() + EXPIRES_IN_MS });
    for (const { grant } of [expired, expiring]) outages.set(grant.refreshToken ?? '', outage);
    const loads = { expired: startClients(expired, 2), expiring: startClients(expiring, 1) };
    await eventually(async () =>
      [expired, expiring].every((session) => fleet.refreshesOf(session).length >= 3),
    );
    const [page, status] = await Promise.all([
      send(fleet.at(0).url, expired.cookie, { path: '/workspaces', headers: ACCEPT_HTML }),
      send(fleet.at(1).url, expired.cookie, { path: '/auth/session' }),
    ]);
    const stateOf = (session: TestSession, load: Load) => ({ session, load, during: [...load.responses] });
    observed.set(how, {
      expired: stateOf(expired, loads.expired),
      expiring: stateOf(expiring, loads.expiring),
      page,
      status,
      recoveredInMs: NaN,
    });
  };
  await Promise.all(Object.entries(OUTAGES).map(observe));

  fleet.service.intercept = () => false;
  using over = startStopwatch();
  await Promise.all(
    [...observed.values()].map(async (outage) => {
      await outage.expired.load.next(200);
      outage.recoveredInMs = over.ms();
      await Promise.all([outage.expired.load.stop(), outage.expiring.load.stop()]);
    }),
  );
});

function startClients({ cookie }: TestSession, clients: number): Load {
  return startLoad(clients, async (count) => {
    await delay(REQUEST_EVERY_MS);
    return send(fleet.at(count).url, cookie);
  });
}

/** When the refreshes of a session failed, in ms, by the logs: a busy process may send its token request late. */
function failuresOf({ session: { id } }: ObservedSession): number[] {
  return fleet.processes
    .flatMap((each) => each.logged())
    .filter(({ msg, session }) => msg === 'token refresh failed' && session === sessionLogId(id))
    .map(({ time }) => Number(time))
    .toSorted((one, other) => one - other);
}

describe.each(Object.keys(OUTAGES))('while the token endpoint %s', (how) => {
  let outage: ObservedOutage;
  beforeAll(() => {
    outage = observed.get(how) as ObservedOutage;
  });

  test('an expired token leads to a 503 with Retry-After that leaves the cookie alone', () => {
    const { during } = outage.expired;
    expect(Object.keys(tally(during))).toEqual(['503 token_endpoint_unavailable']);
    for (const { headers } of during) {
      expect(headers['retry-after']).toMatch(/^\d+$/);
      expect(headers['set-cookie']).toBeUndefined();
    }
  });

  test('the gateway uses an expiring token', () => {
    expect(Object.keys(tally(outage.expiring.during))).toEqual(['200']);
  });

  test('each session is refreshed again and again, at most once a second', () => {
    for (const failedAt of [failuresOf(outage.expired), failuresOf(outage.expiring)]) {
      expect(failedAt.length).toBeGreaterThan(1);
      const gaps = failedAt.slice(1).map((at, before) => at - (failedAt[before] ?? NaN));
      expect(Math.min(...gaps)).toBeGreaterThanOrEqual(1_000 - TIMER_SLACK_MS);
    }
  });

  test('a page is a 503 page that offers to try again', () => {
    const { status, headers, body } = outage.page;
    expect(status).toBe(503);
    expect(headers['content-type']).toMatch(/^text\/html/);
    expect(headers['retry-after']).toMatch(/^\d+$/);
    expect(headers['set-cookie']).toBeUndefined();
    expect(body).toContain('The service can’t refresh your access right now');
    expect(body).toContain('Try again');
  });

  test('a user stays signed in', () => {
    expect(JSON.parse(outage.status.body)).toMatchObject({ signedIn: true });
  });

  test('no session is lost, and requests succeed again soon after it', async () => {
    const { expired, expiring, recoveredInMs } = outage;
    const sessionsLost = await fleet.countLost([expired.session, expiring.session]);
    reportFault(`token endpoint ${how}`, [...expired.load.responses, ...expiring.load.responses], {
      sessionsLost,
      recoveredInMs,
    });
    expect(sessionsLost).toBe(0);
    expect(recoveredInMs).toBeLessThan(RECOVERS_WITHIN_MS);
    expect(expired.load.responses.filter(({ status }) => status !== 200 && status !== 503)).toEqual([]);
  });
});
