import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { sessionLogId } from '../../../src/session/events.ts';
import { send, startLoad, tally, type FleetResponse, type Load } from '../../support/fleet/requests.ts';
import { reportFault } from '../../support/fleet/report.ts';
import { startFleet, type TestSession, type Fleet } from '../../support/fleet/fleet.ts';
import { eventually } from '../../support/eventually.ts';
import { OUTAGES, breakTokenEndpoint } from '../../support/fleet/token-endpoint-outages.ts';
import { startStopwatch } from '../../support/stopwatch.ts';

/** Each caller asks so often. */
const ASK_EVERY_MS = 250;
/** Of one call; all that are in time must be for a machine that has much else to do. */
const TOKEN_TIMEOUT_SECONDS = 2;
/** A try takes as long at most and is followed by another two seconds later; the rest is for a busy machine. */
const RECOVERS_WITHIN_MS = 1_000 * TOKEN_TIMEOUT_SECONDS + 5_000;
/** The most there is, for tokens that live a quarter of an hour: none is spent before all outages were seen. */
const AHEAD_SECONDS = 300;
const LIVES_MS = 290_000;
/** Redis counts the time from one try to the next, and others tell it. */
const TIMER_SLACK_MS = 100;

/** A session that is called with, over both processes in turn, during an outage and until it is over. */
interface Watched {
  readonly session: TestSession;
  readonly load: Load;
  during: readonly FleetResponse[];
  /**
   * When its renewals failed, in ms, as the processes' logs have it: when the token endpoint heard of them hangs on how much its
   * process had to do.
   */
  failedAt: readonly number[];
}

/** All outages happen at once, each to sessions of its own. */
interface Seen {
  readonly spent: Watched;
  /** Its token lives on, inside REFRESH_AHEAD. */
  readonly living: Watched;
  page: FleetResponse;
  status: FleetResponse;
  recoveredInMs: number;
}

let fleet: Fleet;
const seen = new Map<string, Seen>();

beforeAll(async () => {
  fleet = await startFleet({
    processes: 2,
    env: {
      TOKEN_TIMEOUT_SECONDS: String(TOKEN_TIMEOUT_SECONDS),
      REFRESH_AHEAD_SECONDS: String(AHEAD_SECONDS),
    },
  });
  const sessions = await Promise.all(
    Object.keys(OUTAGES).map(async (how) => ({
      how,
      spent: await fleet.createSession(how, { expiresAt: 0 }),
      living: await fleet.createSession(how, { expiresAt: Date.now() + LIVES_MS }),
    })),
  );
  const broken = sessions.flatMap(({ how, spent, living }) =>
    [spent, living].map(({ grant }) => [grant.refreshToken ?? '', OUTAGES[how] ?? (() => {})] as const),
  );
  breakTokenEndpoint(fleet.service, new Map(broken));

  const watches = sessions.map(({ how, spent, living }) => ({
    how,
    spent: watch(spent, 2),
    living: watch(living, 1),
  }));
  const all = sessions.flatMap(({ spent, living }) => [spent, living]);
  await eventually(async () => all.every((session) => triesFor(session) >= 3));
  await Promise.all(
    watches.map(async ({ how, spent, living }) => {
      const [page, status] = await lookAround(spent.session);
      for (const watched of [spent, living]) watched.during = [...watched.load.responses];
      seen.set(how, { spent, living, page, status, recoveredInMs: NaN });
    }),
  );

  fleet.service.intercept = () => false;
  using over = startStopwatch();
  await Promise.all(
    [...seen.values()].map(async (each) => {
      await each.spent.load.next(200);
      each.recoveredInMs = over.ms();
      await Promise.all([each.spent.load.stop(), each.living.load.stop()]);
    }),
  );
  const failures = failuresBySession();
  for (const { spent, living } of seen.values())
    for (const watched of [spent, living])
      watched.failedAt = failures.get(sessionLogId(watched.session.id)) ?? [];
});
afterAll(async () => {
  await fleet[Symbol.asyncDispose]();
});

function watch(session: TestSession, callers: number): Watched {
  const load = startLoad(callers, async (count) => {
    await delay(ASK_EVERY_MS);
    return send(processUrl(count), session.cookie);
  });
  return { session, load, during: [], failedAt: [] };
}

function processUrl(count: number): string {
  return fleet.processes[count % fleet.processes.length]?.url ?? '';
}

async function lookAround({ cookie }: TestSession): Promise<[page: FleetResponse, status: FleetResponse]> {
  return Promise.all([
    send(processUrl(0), cookie, { path: '/workspaces', headers: { accept: 'text/html' } }),
    send(processUrl(1), cookie, { path: '/auth/session' }),
  ]);
}

/** How often the token endpoint was asked to renew a session. */
function triesFor({ grant }: TestSession): number {
  return fleet.service.refreshes.filter(({ refreshToken }) => refreshToken === grant.refreshToken).length;
}

/** When the renewals of each session failed, by its pseudonym. */
function failuresBySession(): Map<unknown, number[]> {
  const failures = new Map<unknown, number[]>();
  const lines = fleet.processes
    .flatMap((each) => each.logged())
    .filter(({ msg }) => msg === 'token refresh failed')
    .map((line) => ({ session: line['session'], at: Number(line['time']) }))
    .toSorted((one, other) => one.at - other.at);
  for (const { session, at } of lines) failures.set(session, [...(failures.get(session) ?? []), at]);
  return failures;
}

describe.each(Object.keys(OUTAGES))('while the token endpoint %s', (how) => {
  let outage: Seen;
  beforeAll(() => {
    const found = seen.get(how);
    if (found === undefined) throw new Error('it never happened');
    outage = found;
  });

  test('a spent token is a 503 that says when to come again, and leaves the cookie alone', () => {
    const { during } = outage.spent;
    expect(Object.keys(tally(during))).toEqual(['503 token_endpoint_unavailable']);
    for (const { headers } of during) {
      expect(headers['retry-after']).toMatch(/^\d+$/);
      expect(headers['set-cookie']).toBeUndefined();
    }
  });

  test('a living token goes on being used', () => {
    expect(Object.keys(tally(outage.living.during))).toEqual(['200']);
  });

  test('each session is tried at most once a second, and again and again', () => {
    for (const { failedAt } of [outage.spent, outage.living]) {
      expect(failedAt.length).toBeGreaterThan(1);
      const gaps = failedAt.slice(1).map((at, before) => at - (failedAt[before] ?? NaN));
      expect(Math.min(...gaps)).toBeGreaterThanOrEqual(1_000 - TIMER_SLACK_MS);
    }
  });

  test('a page is a 503 page with a way on', () => {
    const { page } = outage;
    expect(page.status).toBe(503);
    expect(page.headers['content-type']).toMatch(/^text\/html/);
    expect(page.headers['retry-after']).toMatch(/^\d+$/);
    expect(page.headers['set-cookie']).toBeUndefined();
    expect(page.body).toContain('Try again');
  });

  test('who is signed in stays so', () => {
    expect(JSON.parse(outage.status.body)).toMatchObject({ signedIn: true });
  });

  test('and when it comes back, all goes on by itself', async () => {
    const { spent, living, recoveredInMs } = outage;
    const kept = await Promise.all([spent, living].map(async ({ session }) => fleet.store.peek(session.id)));
    reportFault({
      fault: `token endpoint ${how}`,
      responses: [...spent.load.responses, ...living.load.responses],
      sessionsLost: kept.filter((found) => found === null).length,
      recoveredInMs,
    });
    expect(kept).not.toContain(null);
    expect(recoveredInMs).toBeLessThan(RECOVERS_WITHIN_MS);
    expect(spent.load.responses.filter(({ status }) => status !== 200 && status !== 503)).toEqual([]);
  });
});
