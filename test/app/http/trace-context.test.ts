import { afterEach, describe, expect, test } from '@jest/globals';
import { API_PATH } from '../../support/constants.ts';
import { useTestApp } from '../../support/fixtures.ts';
import { tokenRequests } from '../../support/test-app.ts';
import { eventually } from '../../support/eventually.ts';

const testApp = useTestApp();
beforeEach(() => {
  testApp.serviceRequests.length = 0;
  testApp.logged.length = 0;
});
afterEach(() => {
  testApp.intercept = () => false;
});

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const TRACE = { traceparent: `00-${TRACE_ID}-00f067aa0ba902b7-01`, tracestate: 'rojo=1, congo=t61' };
const MALFORMED = { ...TRACE, traceparent: `00-${TRACE_ID.toUpperCase()}-00f067aa0ba902b7-01` };

const get = async (path: string, headers: Record<string, string>) => {
  const answer = await fetch(testApp.origin + path, { headers, redirect: 'manual' });
  await answer.text();
  return answer.headers.get('x-request-id') ?? '';
};
/** The line of a request, once it is written. */
const lineOf = async (requestId: string): Promise<object> => {
  const find = () =>
    testApp.logged.find((line) => line.includes(requestId) && line.includes('"msg":"request"'));
  await eventually(async () => find() !== undefined);
  return JSON.parse(find() ?? '') as object;
};

describe('a trace', () => {
  test('is named in the line of its call, and passed on to the service unchanged', async () => {
    testApp.intercept = (_req, res) => Boolean(res.end('{}'));
    const { cookie } = await testApp.createSession();
    const id = await get(API_PATH, { cookie, ...TRACE });
    expect(testApp.serviceRequests[0]?.headers).toMatchObject(TRACE);
    expect(await lineOf(id)).toMatchObject({ traceId: TRACE_ID });
  });

  test('goes with what a page asks of the service, too', async () => {
    const { browser } = await testApp.signIn('/');
    testApp.serviceRequests.length = 0;
    const cookie = await browser.jar.getCookieString(testApp.origin);
    const id = await get('/workspaces', { cookie, ...TRACE });
    expect(testApp.serviceRequests.map(({ headers }) => headers)).toEqual([expect.objectContaining(TRACE)]);
    expect(await lineOf(id)).toMatchObject({ traceId: TRACE_ID });
  });

  test('goes with a renewal that its request causes', async () => {
    testApp.intercept = (req, res) =>
      Boolean(res.end(req.url?.endsWith('/token') ? '{"access_token":"fresh"}' : '{}'));
    const { cookie } = await testApp.createSession({ expiresAt: 0 });
    const id = await get(API_PATH, { cookie, ...TRACE });
    expect(tokenRequests(testApp).map(({ headers }) => headers)).toEqual([expect.objectContaining(TRACE)]);
    await lineOf(id); // or it would be found in the log of the next test
  });

  test('is neither logged nor passed on where it is malformed, nor is its state', async () => {
    testApp.intercept = (_req, res) => Boolean(res.end('{}'));
    const { cookie } = await testApp.createSession();
    const id = await get(API_PATH, { cookie, ...MALFORMED });
    expect(Object.keys(testApp.serviceRequests[0]?.headers ?? {})).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/^trace/)]),
    );
    expect(await lineOf(id)).not.toHaveProperty('traceId');
    expect(testApp.logged.join('').toLowerCase()).not.toContain(TRACE_ID);
  });

  test('is passed on to nobody by a request that has none', async () => {
    testApp.intercept = (_req, res) => Boolean(res.end('{}'));
    const { cookie } = await testApp.createSession();
    const id = await get(API_PATH, { cookie, tracestate: 'rojo=1' });
    expect(Object.keys(testApp.serviceRequests[0]?.headers ?? {})).not.toContain('tracestate');
    expect(await lineOf(id)).not.toHaveProperty('traceId');
  });
});
