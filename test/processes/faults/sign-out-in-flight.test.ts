import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { hashId } from '../../../src/session/store.ts';
import { TOKEN_PATH } from '../../support/constants.ts';
import { send, closeConnections, signOut, tally } from '../../support/fleet/requests.ts';
import type { FleetResponse, RequestOptions } from '../../support/fleet/requests.ts';
import { startFleet } from '../../support/fleet/fleet.ts';
import type { TestSession, Fleet } from '../../support/fleet/fleet.ts';
import { createBarrier, holdResponse } from '../../support/fleet/barrier.ts';
import type { Barrier } from '../../support/fleet/barrier.ts';
import { reportFault } from '../../support/fleet/report.ts';
import { eventually } from '../../support/eventually.ts';

const STREAM_PATH = '/api/public/v1/stream';
const PAGE = { path: '/workspaces' };
const SIGN_IN_AND_COME_BACK = '/auth/login?return_to=%2Fworkspaces';
/** Within REFRESH_AHEAD_SECONDS of its end, and far from it. */
const SOON_MS = 30_000;

afterAll(closeConnections);

describe.each(['false', 'true'])('sign-out, with LOCAL_SERVICE_ROTATE_REFRESH=%s', (rotate) => {
  let fleet: Fleet;
  /** Where a request of Cloakroom's to the service stands before the service hears of it. */
  let question: Barrier;
  /** Where a response of the token endpoint stands: the service has done what it was asked. */
  let tokenAnswer: Barrier;
  /** Where a stream stands in its middle. */
  let stream: Barrier;

  beforeAll(async () => {
    fleet = await startFleet({ processes: 2, service: { LOCAL_SERVICE_ROTATE_REFRESH: rotate } });
    question = createBarrier();
    tokenAnswer = createBarrier();
    stream = createBarrier();
    fleet.service.intercept = async (req, res) => {
      await question.pass();
      if (req.url === TOKEN_PATH) holdResponse(res, tokenAnswer);
      if (req.url !== STREAM_PATH) return false;
      res.write('one,');
      await stream.pass();
      res.end('two');
      return true;
    };
  });
  afterAll(async () => fleet[Symbol.asyncDispose]());
  afterEach(() => {
    for (const gate of [question, tokenAnswer, stream]) gate.release();
    fleet.service.refreshes.length = 0;
  });

  const urlOf = (at: number) => fleet.at(at).url;
  const sessionKey = ({ id }: TestSession) => `cloakroom:session:${hashId(id)}`;
  /** But for the `next` tokens that a page in flight may still leave: encrypted under the dead id, they open to nobody. */
  const keysOf = async ({ id }: TestSession) => fleet.redis.keys(`cloakroom:[sar]*${hashId(id)}*`);
  /** How often a session was read for a call or a page. */
  const sessionReads = async () =>
    Number(/^cmdstat_getex:calls=(\d+)/m.exec(await fleet.redis.info('commandstats'))?.[1] ?? 0);

  const expectSignedOut = async ({ cookie }: TestSession) => {
    expect((await signOut(fleet.at(1).url, cookie)).status).toBe(303);
  };

  /** Brings a call at one process to the gate, signs out at the other one, lets the call go on; gives its response. */
  const signOutAmid = async (
    session: TestSession,
    gate: Barrier,
    { meanwhile, ...options }: RequestOptions & { meanwhile?: () => Promise<void> } = {},
  ) => {
    gate.hold();
    const inFlight = send(urlOf(0), session.cookie, options);
    await gate.reached();
    await expectSignedOut(session);
    await meanwhile?.();
    gate.release();
    return inFlight;
  };

  /** The session is gone for both processes, and stays so; nothing of what came late is used or kept. */
  const expectDead = async (session: TestSession) => {
    const { apiCalls, refreshes } = fleet.service;
    const refreshesBefore = refreshes.length;
    const responses: FleetResponse[] = [];
    for (const at of [0, 1] as const) {
      const api = await send(urlOf(at), session.cookie);
      expect(api).toMatchObject({ status: 401, code: 'session_expired' });
      const status = await send(urlOf(at), session.cookie, { path: '/auth/session' });
      expect(JSON.parse(status.body)).toEqual({ signedIn: false });
      const page = await send(urlOf(at), session.cookie, PAGE);
      expect(page).toMatchObject({ status: 303, headers: { location: SIGN_IN_AND_COME_BACK } });
      responses.push(api, status, page);
    }
    expect(responses.filter(setsCookie)).toEqual([]);
    expect(fleet.service).toMatchObject({ apiCalls, refreshes: { length: refreshesBefore } });
    expect(await keysOf(session)).toEqual([sessionKey(session)]);
    expect(await fleet.redis.get(sessionKey(session))).toBe('ended');
    expect(await fleet.redis.ttl(sessionKey(session))).toBeGreaterThan(0);
    return responses;
  };

  const report = (what: string, responses: readonly FleetResponse[]) =>
    reportFault({
      fault: `sign-out while ${what}, rotation ${rotate === 'true' ? 'on' : 'off'}`,
      responses,
      sessionsLost: 0,
    });

  test.each([
    ['before the service heard of it', () => question],
    ['with new tokens on their way', () => tokenAnswer],
  ])('while a renewal is held %s is final, and the late tokens are dropped', async (where, gate) => {
    const session = await fleet.createSession('demo', { expiresAt: 0 });
    const late = await signOutAmid(session, gate());
    expect(late).toMatchObject({ status: 401, code: 'session_expired' });
    expect(fleet.service.refreshes).toHaveLength(1);
    report(`a renewal is held ${where}`, [late, ...(await expectDead(session))]);
  });

  test('while a renewal is held is told to all who wait for it, at either process', async () => {
    const session = await fleet.createSession('demo', { expiresAt: 0 });
    tokenAnswer.hold();
    const readBefore = await sessionReads();
    const waiting = [0, 1, 0, 1].map(async (at) => send(urlOf(at), session.cookie));
    await tokenAnswer.reached();
    await eventually(async () => (await sessionReads()) === readBefore + waiting.length);
    await expectSignedOut(session);
    tokenAnswer.release();
    const late = await Promise.all(waiting);
    expect(tally(late)).toEqual({ '401 session_expired': waiting.length });
    expect(fleet.service.refreshes).toHaveLength(1);
    report('four calls wait for a renewal', [...late, ...(await expectDead(session))]);
  });

  test('while a token is renewed ahead of its end is final', async () => {
    const session = await fleet.createSession('demo', { expiresAt: Date.now() + SOON_MS });
    tokenAnswer.hold();
    // It is answered with the living token, while the renewal goes on beside it.
    expect(await send(urlOf(0), session.cookie)).toMatchObject({ status: 200 });
    await tokenAnswer.reached();
    await expectSignedOut(session);
    tokenAnswer.release();
    await eventually(async () => (await keysOf(session)).length === 1); // the lock goes last
    expect(fleet.service.refreshes).toHaveLength(1);
    report('a token is renewed ahead of its end', await expectDead(session));
  });

  test('while an API call is in flight that then gets a 401 is final, and nothing is renewed', async () => {
    const session = await fleet.createSession();
    const meanwhile = async () => fleet.service.revokeAccess(session.grant.accessToken);
    const late = await signOutAmid(session, question, { meanwhile });
    expect(late).toMatchObject({ status: 401, code: 'session_expired' });
    expect(fleet.service.refreshes).toEqual([]);
    report('a call is in flight that gets a 401', [late, ...(await expectDead(session))]);
  });

  test('while the renewal after a 401 is held is final', async () => {
    const session = await fleet.createSession();
    await fleet.service.revokeAccess(session.grant.accessToken);
    const late = await signOutAmid(session, tokenAnswer);
    expect(late).toMatchObject({ status: 401, code: 'session_expired' });
    expect(fleet.service.refreshes).toHaveLength(1);
    await expectDead(session);
  });

  test('while a page waits for its token is final, and the page leads to sign in', async () => {
    const session = await fleet.createSession('demo', { expiresAt: 0 });
    const late = await signOutAmid(session, tokenAnswer, PAGE);
    expect(late).toMatchObject({ status: 303, headers: { location: SIGN_IN_AND_COME_BACK } });
    expect(setsCookie(late)).toBe(false);
    expect(fleet.service.refreshes).toHaveLength(1);
    report('a page waits for its token', [late, ...(await expectDead(session))]);
  });

  test('while a page waits for the service is final: the page neither sets the cookie nor stores a session', async () => {
    const session = await fleet.createSession();
    const late = await signOutAmid(session, question, PAGE);
    expect(late.status).toBe(200);
    expect(setsCookie(late)).toBe(false);
    report('a page waits for the service', [late, ...(await expectDead(session))]);
  });

  test('while a stream is in flight is final, and the stream ends as the service ends it', async () => {
    const session = await fleet.createSession();
    const late = await signOutAmid(session, stream, { path: STREAM_PATH });
    expect(late).toMatchObject({ status: 200, body: 'one,two' });
    report('a stream is in flight', [late, ...(await expectDead(session))]);
  });
});

function setsCookie({ headers }: FleetResponse): boolean {
  return headers['set-cookie'] !== undefined;
}
