import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { hashId, sessionKey } from '../../../src/session/store.ts';
import { TOKEN_PATH } from '../../support/constants.ts';
import {
  send,
  signOut,
  tally,
  type FleetResponse,
  type RequestOptions,
} from '../../support/fleet/requests.ts';
import { useFleet, type TestSession } from '../../support/fleet/fleet.ts';
import { createBarrier, holdResponse, type Barrier } from '../../support/fleet/barrier.ts';
import { reportFault } from '../../support/fleet/report.ts';
import { eventually } from '../../support/eventually.ts';

const STREAM_PATH = '/api/public/v1/stream';
const PAGE = { path: '/workspaces' };
const SIGN_IN_URL = '/auth/login?return_to=%2Fworkspaces';
/** Less than REFRESH_AHEAD_SECONDS. */
const SOON_MS = 30_000;

describe.each(['false', 'true'])('sign-out, with LOCAL_SERVICE_ROTATE_REFRESH=%s', (rotate) => {
  const fleet = useFleet({ processes: 2, service: { LOCAL_SERVICE_ROTATE_REFRESH: rotate } });
  /** Holds requests of Cloakroom before the service handles them. */
  const serviceRequest = createBarrier();
  /** Holds responses of the token endpoint: the service has issued the tokens. */
  const tokenResponse = createBarrier();
  /** Holds a response in its middle. */
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
  /** Without page cursors, which a page in flight may still store: they are encrypted under the id of the ended session. */
  const keysOf = async ({ id }: TestSession) => fleet.redis.keys(`cloakroom:[sar]*${hashId(id)}*`);
  /** How often sessions were read for API requests and pages. */
  const sessionReads = async () =>
    Number(/^cmdstat_getex:calls=(\d+)/m.exec(await fleet.redis.info('commandstats'))?.[1] ?? 0);

  const expectSignedOut = async ({ cookie }: TestSession) => {
    expect((await signOut(fleet.at(1).url, cookie)).status).toBe(303);
  };

  /** Holds a request to one process, signs out at the other one, and resolves with the response to the first. */
  const signOutAmid = async (
    session: TestSession,
    barrier: Barrier,
    { meanwhile, ...options }: RequestOptions & { meanwhile?: () => Promise<void> } = {},
  ) => {
    barrier.hold();
    const inFlight = send(urlOf(0), session.cookie, options);
    await barrier.reached();
    await expectSignedOut(session);
    await meanwhile?.();
    barrier.release();
    return inFlight;
  };

  /** Expects that the session has ended for both processes, and that tokens that came late are neither used nor stored. */
  const expectEnded = async (session: TestSession) => {
    const { apiRequests, refreshes } = fleet.service;
    const refreshesBefore = refreshes.length;
    const responses: FleetResponse[] = [];
    for (const at of [0, 1] as const) {
      const api = await send(urlOf(at), session.cookie);
      expect(api).toMatchObject({ status: 401, code: 'session_expired' });
      const status = await send(urlOf(at), session.cookie, { path: '/auth/session' });
      expect(JSON.parse(status.body)).toEqual({ signedIn: false });
      const page = await send(urlOf(at), session.cookie, PAGE);
      expect(page).toMatchObject({ status: 303, headers: { location: SIGN_IN_URL } });
      responses.push(api, status, page);
    }
    expect(responses.filter(setsCookie)).toEqual([]);
    expect(fleet.service).toMatchObject({ apiRequests, refreshes: { length: refreshesBefore } });
    expect(await keysOf(session)).toEqual([keyOf(session)]);
    expect(await fleet.redis.get(keyOf(session))).toBe('ended');
    expect(await fleet.redis.ttl(keyOf(session))).toBeGreaterThan(0);
    return responses;
  };

  const report = (what: string, responses: readonly FleetResponse[]) =>
    reportFault(`sign-out while ${what}, rotation ${rotate === 'true' ? 'on' : 'off'}`, responses);

  test.each([
    ['before the service handles it', serviceRequest],
    ['before its response arrives', tokenResponse],
  ])('while a refresh is held %s is final, and the late tokens are dropped', async (where, barrier) => {
    const session = await fleet.createSession('demo', { expiresAt: 0 });
    const late = await signOutAmid(session, barrier);
    expect(late).toMatchObject({ status: 401, code: 'session_expired' });
    expect(fleet.service.refreshes).toHaveLength(1);
    report(`a refresh is held ${where}`, [late, ...(await expectEnded(session))]);
  });

  test('while a refresh is held ends every request that waits for it, in both processes', async () => {
    const session = await fleet.createSession('demo', { expiresAt: 0 });
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
    report('four requests wait for a refresh', [...late, ...(await expectEnded(session))]);
  });

  test('during a refresh in the background is final', async () => {
    const session = await fleet.createSession('demo', { expiresAt: Date.now() + SOON_MS });
    tokenResponse.hold();
    // The gateway uses the unexpired token, and refreshes in the background.
    expect(await send(urlOf(0), session.cookie)).toMatchObject({ status: 200 });
    await tokenResponse.reached();
    await expectSignedOut(session);
    tokenResponse.release();
    await eventually(async () => (await keysOf(session)).length === 1); // the lock is removed last
    expect(fleet.service.refreshes).toHaveLength(1);
    report('a token is refreshed in the background', await expectEnded(session));
  });

  test('before an API request gets a 401 is final, and causes no refresh', async () => {
    const session = await fleet.createSession();
    const meanwhile = async () => fleet.service.revokeAccess(session.grant.accessToken);
    const late = await signOutAmid(session, serviceRequest, { meanwhile });
    expect(late).toMatchObject({ status: 401, code: 'session_expired' });
    expect(fleet.service.refreshes).toEqual([]);
    report('a request is in flight that gets a 401', [late, ...(await expectEnded(session))]);
  });

  test('during the refresh after a 401 is final', async () => {
    const session = await fleet.createSession();
    await fleet.service.revokeAccess(session.grant.accessToken);
    const late = await signOutAmid(session, tokenResponse);
    expect(late).toMatchObject({ status: 401, code: 'session_expired' });
    expect(fleet.service.refreshes).toHaveLength(1);
    await expectEnded(session);
  });

  test('while a page waits for its token is final, and the page redirects to sign-in', async () => {
    const session = await fleet.createSession('demo', { expiresAt: 0 });
    const late = await signOutAmid(session, tokenResponse, PAGE);
    expect(late).toMatchObject({ status: 303, headers: { location: SIGN_IN_URL } });
    expect(setsCookie(late)).toBe(false);
    expect(fleet.service.refreshes).toHaveLength(1);
    report('a page waits for its token', [late, ...(await expectEnded(session))]);
  });

  test('while a page waits for the service is final: the page neither sets the cookie nor stores a session', async () => {
    const session = await fleet.createSession();
    const late = await signOutAmid(session, serviceRequest, PAGE);
    expect(late.status).toBe(200);
    expect(setsCookie(late)).toBe(false);
    report('a page waits for the service', [late, ...(await expectEnded(session))]);
  });

  test('while a stream is in flight is final, and the stream ends as the service ends it', async () => {
    const session = await fleet.createSession();
    const late = await signOutAmid(session, stream, { path: STREAM_PATH });
    expect(late).toMatchObject({ status: 200, body: 'one,two' });
    report('a stream is in flight', [late, ...(await expectEnded(session))]);
  });
});

function setsCookie({ headers }: FleetResponse): boolean {
  return headers['set-cookie'] !== undefined;
}
