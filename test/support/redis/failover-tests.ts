import { expect, test } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { Browser } from '../browser.ts';
import { eventually } from '../eventually.ts';
import { startFleet, type Fleet, type TestSession } from '../fleet/fleet.ts';
import { freePort } from '../fleet/free-port.ts';
import { reportFault } from '../fleet/report.ts';
import { send, signOut, startLoad, tally, type FleetResponse, type Load } from '../fleet/requests.ts';
import { startStopwatch } from '../stopwatch.ts';
import { submitSignIn } from '../test-app.ts';

/** Two Cloakroom processes, with a service that issues short-lived access tokens and single-use refresh tokens. */
export interface TwoProcesses extends Fleet {
  /** The origin of the second process, where browsers sign in. */
  readonly origin: string;
}

/** Longer than any failover in these tests, so that an access token outlives the failover. */
const TOKEN_SECONDS = 6;

/** Starts two Cloakroom processes with this `REDIS_URL`. Resolves once both processes are ready. */
export async function startTwoProcesses(redisUrl: string): Promise<TwoProcesses> {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const fleet = await startFleet({
    redisUrl,
    env: { PUBLIC_URL: origin },
    service: {
      LOCAL_SERVICE_REDIRECT_URIS: `${origin}/auth/callback`,
      LOCAL_SERVICE_ROTATE_REFRESH: 'true',
      LOCAL_SERVICE_ACCESS_TOKEN_SECONDS: String(TOKEN_SECONDS),
    },
  });
  try {
    await fleet.add({ PORT: String(port) });
    return { ...fleet, origin };
  } catch (error) {
    await fleet[Symbol.asyncDispose](); // otherwise, the Cloakroom processes would outlive the test process
    throw error;
  }
}

/** Enough sessions for each master in a cluster to hold some. */
const SESSIONS = 30;

/** Defines tests of the features that depend on Redis. */
export function testUserJourney(fleet: TwoProcesses): void {
  test('a user can sign in, read several pages and sign out, and the sign-out is final', async () => {
    const { origin, processes } = fleet;
    const browser = new Browser();
    const consent = await submitSignIn(browser, await browser.open(`${origin}/auth/login`));
    const first = await browser.follow(await browser.press(consent, 'Allow'));
    expect(first.text).toContain('Workspaces 1–25');
    expect((await browser.open(`${origin}/workspaces?limit=25&page=3`)).text).toContain('Workspaces 51–75');
    expect((await browser.open(`${origin}/workspaces?limit=25&page=2`)).text).toContain('Workspaces 26–50');
    // Pages also work without stored cursors, so only the log would show a failure to store them.
    const logged = processes.flatMap((each) => each.logged());
    expect(logged.filter(({ msg }) => msg === 'page cursors not stored')).toEqual([]);

    const cookie = await browser.jar.getCookieString(origin);
    const left = await browser.press(first, 'Sign out');
    expect(left.status).toBe(303);
    const after = await Promise.all(processes.map(async ({ url }) => send(url, cookie)));
    expect(tally(after)).toEqual({ '401 session_expired': processes.length });
  });

  test('both processes can read all sessions, each session is refreshed once, and a sign-out applies to both processes', async () => {
    const { processes, service } = fleet;
    const sessions = await Promise.all(
      Array.from({ length: SESSIONS }, async (_, at) => fleet.createSession(`user-${at}`, { expiresAt: 0 })),
    );
    const old = new Set(sessions.map(({ grant }) => grant.refreshToken));
    const sendAll = async () =>
      Promise.all(sessions.flatMap(({ cookie }) => processes.map(async ({ url }) => send(url, cookie))));

    expect(tally(await sendAll())).toEqual({ 200: SESSIONS * processes.length });
    expect(service.refreshes.filter(({ refreshToken }) => old.has(refreshToken))).toHaveLength(SESSIONS);

    const left = await Promise.all(sessions.map(async ({ cookie }) => signOut(fleet.at(0).url, cookie)));
    expect(tally(left)).toEqual({ 303: SESSIONS });
    expect(tally(await sendAll())).toEqual({ '401 session_expired': SESSIONS * processes.length });
  });
}

const CLIENTS = 4;
/** The pause before each request, which limits the load when responses arrive immediately during an outage. */
const PAUSE_MS = 25;
const RECOVERED_WITHIN_MS = 12_000;

/** Starts sending requests to every process, using each session in turn. */
export function startRequests(
  { processes }: TwoProcesses,
  sessions: readonly TestSession[],
): Load & AsyncDisposable {
  const load = startLoad(CLIENTS, async (count) => {
    await delay(PAUSE_MS);
    const process = processes[count % processes.length];
    const session = sessions[Math.floor(count / processes.length) % sessions.length];
    return send(process?.url ?? '', session?.cookie ?? '');
  });
  return { ...load, [Symbol.asyncDispose]: async () => void (await load.stop()) };
}

/** Creates sessions for many users, half of them with an expired access token. */
export async function createSessions(fleet: TwoProcesses, count: number): Promise<TestSession[]> {
  return Promise.all(
    Array.from({ length: count }, async (_, at) =>
      fleet.createSession(`user-${at}`, at % 2 === 0 ? { expiresAt: 0 } : {}),
    ),
  );
}

/** The responses that clients received before, during and after a Redis fault. */
export interface ObservedFailover {
  readonly responses: readonly FleetResponse[];
  /** The responses received after every process had served every session again. */
  readonly afterwards: readonly FleetResponse[];
  readonly sessionsLost: number;
}

/** Injects a fault under load. Resolves once every process serves each remaining session and `repair` has run. */
export async function observeFailover(
  fleet: TwoProcesses,
  sessions: readonly TestSession[],
  fault: string,
  { begin, repair }: { readonly begin: (load: Load) => Promise<void>; readonly repair?: () => Promise<void> },
): Promise<ObservedFailover> {
  await using load = startRequests(fleet, sessions);
  await load.next(200);
  using watch = startStopwatch();
  await begin(load);
  const sessionsLost = await untilServed(fleet, sessions);
  const recoveredInMs = watch.ms();
  const before = load.responses.length;
  await repair?.();
  const responses = await load.stop();
  reportFault(fault, responses, { sessionsLost, recoveredInMs });
  return { responses, afterwards: responses.slice(before), sessionsLost };
}

export function testFailover(observed: () => ObservedFailover): void {
  test('a failed request gets a 503 within 2 s, and every request gets its response within 10 s', () => {
    const { responses } = observed();
    expect(tally(responses)).toHaveProperty(['503 session_store_unavailable']);
    for (const kind of Object.keys(tally(responses))) expect(kind).toMatch(ALLOWED);
    expect(slowest(responses.filter(({ status }) => status === 503))).toBeLessThan(2_000);
    expect(slowest(responses)).toBeLessThan(LONGEST_WAIT_MS);
  });

  test('no session is lost', () => {
    expect(observed().sessionsLost).toBe(0);
  });
}

const ALLOWED = /^(?:200|503 (?:session_store|token_endpoint)_unavailable)$/;
/** A request after an interrupted refresh waits until the lock has expired. */
const LONGEST_WAIT_MS = 10_000;

function slowest(responses: readonly FleetResponse[]): number {
  return Math.max(...responses.map(({ ms }) => ms));
}

/** Waits until every process serves all remaining sessions. Resolves with the number of sessions that Redis has lost. */
async function untilServed(fleet: TwoProcesses, sessions: readonly TestSession[]): Promise<number> {
  let sessionsLost = 0;
  for (const { id, cookie } of sessions) {
    await eventually(async () => {
      const responses = await Promise.all(fleet.processes.map(async ({ url }) => send(url, cookie)));
      const found = await fleet.store.peek(id).catch(() => undefined); // the test's own connection may be down
      if (found === null) sessionsLost += 1;
      return found === null || (found !== undefined && responses.every(({ status }) => status === 200));
    }, RECOVERED_WITHIN_MS);
  }
  return sessionsLost;
}

/** Resolves once `/readyz` on every process returns this status. Checks that each response arrives within 2 s. */
export async function untilReadiness(
  { processes }: Pick<TwoProcesses, 'processes'>,
  status: 200 | 503,
): Promise<void> {
  const until = async (url: string) =>
    eventually(async () => {
      const response = await send(url, '', { path: '/readyz' });
      expect(response.ms).toBeLessThan(2_000);
      return response.status === status;
    });
  await Promise.all(processes.map(async ({ url }) => until(url)));
}
