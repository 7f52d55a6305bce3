import type { IncomingMessage, ServerResponse } from 'node:http';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { ACCEPT_HTML, TOKEN_PATH } from '../../support/constants.ts';
import { send, startLoad, tally, type FleetResponse, type Load } from '../../support/fleet/requests.ts';
import { reportFault } from '../../support/fleet/report.ts';
import { useFleet, type TestSession } from '../../support/fleet/fleet.ts';
import { eventually } from '../../support/eventually.ts';
import { startStopwatch } from '../../support/stopwatch.ts';

const REQUEST_EVERY_MS = 250;
/** Long enough for a token request on a busy machine. */
const TOKEN_TIMEOUT_SECONDS = 2;
/** A refresh takes no longer than the token timeout, and the next refresh follows within 2 s. The margin allows for a busy machine. */
const RECOVERS_WITHIN_MS = 1_000 * TOKEN_TIMEOUT_SECONDS + 5_000;
/** The largest value that takes effect for tokens with a lifetime of 15 min. No token expires during the outages. */
const REFRESH_AHEAD_SECONDS = 300;
const EXPIRES_IN_MS = 290_000;
/** Redis enforces the interval between two refreshes. On a busy machine, a token request may reach the service late. */
const ARRIVAL_SLACK_MS = 400;

type Outage = (req: IncomingMessage, res: ServerResponse) => void;

const responses =
  (status: number, body: string, headers: Readonly<Record<string, string>> = {}): Outage =>
  (_req, res) =>
    void res.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);

const beginResponse = (res: ServerResponse, then?: () => void) => {
  res.writeHead(200, { 'content-type': 'application/json', 'content-length': '500' });
  res.write('{"access_token":"half of', then);
};

/** Token endpoint failures that reveal nothing about the grant, and therefore must not end a session. */
const OUTAGES: Readonly<Record<string, Outage>> = {
  'closes the connection': (req) => void req.socket.destroy(),
  'closes the connection during its response': (_req, res) => beginResponse(res, () => res.destroy()),
  hangs: () => {},
  'hangs during its response': (_req, res) => beginResponse(res),
  'responds with 500': responses(500, '{"code":"INTERNAL","message":"oops"}'),
  'responds with 502 and HTML': responses(502, '<h1>Bad Gateway</h1>', { 'content-type': 'text/html' }),
  'responds with 200 and invalid JSON': responses(200, '\u0000 no JSON'),
  'responds with 200 but no token': responses(200, '{"expires_in":900}'),
  'responds with 302': responses(302, '', { location: TOKEN_PATH }),
  'responds with 429': responses(429, '{"code":"TOO_MANY_REQUESTS"}'),
  'responds with 429 and Retry-After': responses(429, '', { 'retry-after': '30' }),
  'responds with 400 and invalid_request': responses(400, '{"error":"invalid_request"}'),
  'responds with 401 and invalid_client': responses(401, '{"error":"invalid_client"}'),
  'responds with 500 and server_error': responses(500, '{"error":"server_error"}'),
  'responds with 200 and temporarily_unavailable': responses(200, '{"error":"temporarily_unavailable"}'),
};

/** A session that clients use through both processes during an outage. */
interface ObservedSession {
  readonly session: TestSession;
  readonly load: Load;
  readonly during: readonly FleetResponse[];
}

/** The sessions and responses in one outage. All outages run at the same time, each with its own sessions. */
interface ObservedOutage {
  readonly expired: ObservedSession;
  /** A session whose token expires within REFRESH_AHEAD_SECONDS. */
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
  /** The outages, keyed by the refresh token of the grant. */
  const outages = new Map<string, Outage>();
  fleet.service.intercept = (req, res, refreshToken) => {
    const outage = outages.get(refreshToken ?? '');
    outage?.(req, res);
    return outage !== undefined;
  };
  const observe = async ([how, outage]: [string, Outage]) => {
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

describe.each(Object.keys(OUTAGES))('while the token endpoint %s', (how) => {
  let outage: ObservedOutage;
  beforeAll(() => {
    outage = observed.get(how) as ObservedOutage;
  });

  test('an expired token leads to a 503 that has Retry-After and does not change the cookie', () => {
    const { during } = outage.expired;
    expect(Object.keys(tally(during))).toEqual(['503 token_endpoint_unavailable']);
    for (const { headers } of during) {
      expect(headers['retry-after']).toMatch(/^\d+$/);
      expect(headers['set-cookie']).toBeUndefined();
    }
  });

  test('the gateway keeps using an expiring token', () => {
    expect(Object.keys(tally(outage.expiring.during))).toEqual(['200']);
  });

  test('Cloakroom retries the refresh of each session at most once a second', () => {
    for (const { session } of [outage.expired, outage.expiring]) {
      const times = fleet.refreshesOf(session).map(({ at }) => at);
      expect(times.length).toBeGreaterThan(2);
      const everyMs = (Math.max(...times) - Math.min(...times)) / (times.length - 1);
      expect(everyMs).toBeGreaterThanOrEqual(1_000 - ARRIVAL_SLACK_MS);
    }
  });

  test('a page request gets a 503 page that offers to try again', () => {
    const { status, headers, body } = outage.page;
    expect(status).toBe(503);
    expect(headers['content-type']).toMatch(/^text\/html/);
    expect(headers['retry-after']).toMatch(/^\d+$/);
    expect(headers['set-cookie']).toBeUndefined();
    expect(body).toContain('Your access to the service can’t be refreshed right now');
    expect(body).toContain('Try again');
  });

  test('the user stays signed in', () => {
    expect(JSON.parse(outage.status.body)).toMatchObject({ signedIn: true });
  });

  test('no session is lost, and requests succeed again soon after the outage', async () => {
    const { expired, expiring, recoveredInMs } = outage;
    const sessionsLost = await fleet.countLostSessions([expired.session, expiring.session]);
    reportFault(`token endpoint ${how}`, [...expired.load.responses, ...expiring.load.responses], {
      sessionsLost,
      recoveredInMs,
    });
    expect(sessionsLost).toBe(0);
    expect(recoveredInMs).toBeLessThan(RECOVERS_WITHIN_MS);
    expect(expired.load.responses.filter(({ status }) => status !== 200 && status !== 503)).toEqual([]);
  });
});
