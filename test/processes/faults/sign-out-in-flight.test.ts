import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { hashId, sessionKey } from '../../../src/session/store.ts';
import { TOKEN_PATH } from '../../support/constants.ts';
import { send, signOut, tally, type FleetResponse } from '../../support/fleet/requests.ts';
import { useFleet, type TestSession } from '../../support/fleet/fleet.ts';
import { createBarrier, holdResponse } from '../../support/fleet/barrier.ts';
import { reportFault } from '../../support/fleet/report.ts';
import { ME_PATH } from '../../support/fleet/service.ts';
import { eventually } from '../../support/eventually.ts';

const STREAM_PATH = '/api/public/v1/stream';
const PAGE_PATH = '/workspaces';
const EXPIRED = { expiresAt: 0 };
const REFUSED = { status: 401, code: 'session_expired' };
const TO_SIGN_IN = { status: 303, headers: { location: '/auth/login?return_to=%2Fworkspaces' } };

describe.each(['off', 'on'])('with rotation %s, a sign-out', (rotation) => {
  const service = { LOCAL_SERVICE_ROTATE_REFRESH: String(rotation === 'on') };
  const fleet = useFleet({ processes: 2, service });
  /** Holds requests from Cloakroom before the service handles them. */
  const serviceRequest = createBarrier();
  /** Holds responses from the token endpoint once the service has issued the tokens. */
  const tokenResponse = createBarrier();
  /** Holds a response in the middle of its body. */
  const stream = createBarrier();

  beforeAll(() => {
    fleet.service.intercept = async (req, res) => {
      await serviceRequest.pass();
      if (req.url === TOKEN_PATH) holdResponse(res, tokenResponse);
      if (req.url !== STREAM_PATH) return false;
      res.write('one,');
      await stream.pass();
      res.end('two');
      return true;
    };
  });
  afterEach(() => {
    for (const barrier of [serviceRequest, tokenResponse, stream]) barrier.release();
    fleet.service.refreshes.length = 0;
  });

  const urlOf = (at: number) => fleet.at(at).url;
  const keyOf = ({ id }: TestSession) => sessionKey('cloakroom:', id);
  /** Returns a session's keys, except page cursors, because a page request in flight may still store those after the sign-out. */
  const keysOf = async ({ id }: TestSession) => fleet.redis.keys(`cloakroom:[sar]*${hashId(id)}*`);
  const expectSignedOut = async ({ cookie }: TestSession) => {
    expect((await signOut(urlOf(1), cookie)).status).toBe(303);
  };

  /**
   * Checks that the session has ended in both processes, that late tokens are neither used nor stored, and that no response
   * set a cookie. `late` holds the responses to requests that were in flight.
   */
  const expectEnded = async (session: TestSession, what: string, late: readonly FleetResponse[]) => {
    const { apiRequests: apiRequestsBefore, refreshes } = fleet.service;
    const refreshesBefore = refreshes.length;
    const responses = [...late];
    for (const at of [0, 1]) {
      const api = await send(urlOf(at), session.cookie);
      expect(api).toMatchObject(REFUSED);
      const status = await send(urlOf(at), session.cookie, { path: '/auth/session' });
      expect(JSON.parse(status.body)).toEqual({ signedIn: false });
      const page = await send(urlOf(at), session.cookie, { path: PAGE_PATH });
      expect(page).toMatchObject(TO_SIGN_IN);
      responses.push(api, status, page);
    }
    expect(responses.filter(({ headers }) => headers['set-cookie'] !== undefined)).toEqual([]);
    // Each process may send its first GET to the service before it has read the session (docs/decisions/0004).
    expect(fleet.service.apiRequests - apiRequestsBefore).toBeLessThanOrEqual(2);
    expect(refreshes).toHaveLength(refreshesBefore);
    expect(await keysOf(session)).toEqual([keyOf(session)]);
    expect(await fleet.redis.get(keyOf(session))).toBe('ended');
    expect(await fleet.redis.ttl(keyOf(session))).toBeGreaterThan(0);
    reportFault(`sign-out while ${what}, rotation ${rotation}`, responses);
  };

  test.each([
    ['a token request is in flight', serviceRequest, 'expired', ME_PATH, REFUSED, 1],
    ['a token response is in flight', tokenResponse, 'expired', ME_PATH, REFUSED, 1],
    ['a request that gets a 401 is in flight', serviceRequest, 'revoked', ME_PATH, REFUSED, 0],
    ['the token response after a 401 is in flight', tokenResponse, 'revoked', ME_PATH, REFUSED, 1],
    ['a page is waiting for its token', tokenResponse, 'expired', PAGE_PATH, TO_SIGN_IN, 1],
    ['a page is waiting for the service', serviceRequest, 'valid', PAGE_PATH, { status: 200 }, 0],
    ['a stream is in flight', stream, 'valid', STREAM_PATH, { status: 200, body: 'one,two' }, 0],
  ])('is final while %s', async (what, barrier, token, path, response, refreshes) => {
    const session = await fleet.createSession('demo', token === 'expired' ? EXPIRED : {});
    if (token === 'revoked') await fleet.service.revokeAccess(session.grant.accessToken);
    barrier.hold();
    const inFlight = send(urlOf(0), session.cookie, { path });
    await barrier.reached();
    await expectSignedOut(session);
    barrier.release();
    const late = await inFlight;
    expect(late).toMatchObject(response);
    expect(fleet.service.refreshes).toHaveLength(refreshes);
    await expectEnded(session, what, [late]);
  });

  test('leads to a 401 for all four requests that are waiting for a refresh in both processes', async () => {
    const session = await fleet.createSession('demo', EXPIRED);
    /** Resolves with the number of session reads for API requests and pages. */
    const sessionReads = async () =>
      Number(/^cmdstat_getex:calls=(\d+)/m.exec(await fleet.redis.info('commandstats'))?.[1] ?? 0);
    tokenResponse.hold();
    const readBefore = await sessionReads();
    const waiting = [0, 1, 0, 1].map(async (at) => send(urlOf(at), session.cookie));
    await tokenResponse.reached();
    await eventually(async () => (await sessionReads()) === readBefore + waiting.length);
    await expectSignedOut(session);
    tokenResponse.release();
    const late = await Promise.all(waiting);
    expect(tally(late)).toEqual({ '401 session_expired': waiting.length });
    expect(fleet.service.refreshes).toHaveLength(1);
    await expectEnded(session, 'four requests wait for a refresh', late);
  });

  test('is final even during a background refresh', async () => {
    const session = await fleet.createSession('demo', { expiresAt: Date.now() + 30_000 });
    tokenResponse.hold();
    expect(await send(urlOf(0), session.cookie)).toMatchObject({ status: 200 });
    await tokenResponse.reached();
    await expectSignedOut(session);
    tokenResponse.release();
    await eventually(async () => (await keysOf(session)).length === 1); // the lock is deleted last
    expect(fleet.service.refreshes).toHaveLength(1);
    await expectEnded(session, 'a token is refreshed in the background', []);
  });
});
