import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
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

/** Sends a request and resolves with the request id. */
const get = async (path: string, headers: Record<string, string>) => {
  const response = await fetch(testApp.origin + path, { headers, redirect: 'manual' });
  await response.text();
  return response.headers.get('x-request-id') ?? '';
};
/** Sends an API request that the service accepts. */
const getFromService = async (headers: Record<string, string>) => {
  testApp.intercept = (_req, res) => Boolean(res.end('{}'));
  const { cookie } = await testApp.createSession();
  return get(API_PATH, { cookie, ...headers });
};
const sentHeaders = () => testApp.serviceRequests.map(({ headers }) => headers);
/** Resolves with the log line of a request once it has been written. */
const lineOf = async (requestId: string): Promise<object> => {
  const find = () =>
    testApp.logged.find((line) => line.includes(requestId) && line.includes('"msg":"request"'));
  await eventually(async () => find() !== undefined);
  return JSON.parse(find() ?? '') as object;
};

describe('a trace', () => {
  test('is logged with its request and forwarded to the service unchanged', async () => {
    const id = await getFromService(TRACE);
    expect(sentHeaders()).toEqual([expect.objectContaining(TRACE)]);
    expect(await lineOf(id)).toMatchObject({ traceId: TRACE_ID });
  });

  test('is forwarded with the upstream requests of a page', async () => {
    const { browser } = await testApp.signIn('/');
    testApp.serviceRequests.length = 0;
    const cookie = await browser.jar.getCookieString(testApp.origin);
    const id = await get('/workspaces', { cookie, ...TRACE });
    expect(sentHeaders()).toEqual([expect.objectContaining(TRACE)]);
    expect(await lineOf(id)).toMatchObject({ traceId: TRACE_ID });
  });

  test('is forwarded with a token refresh caused by the traced request', async () => {
    testApp.intercept = (req, res) =>
      Boolean(res.end(req.url?.endsWith('/token') ? '{"access_token":"fresh"}' : '{}'));
    const { cookie } = await testApp.createSession({ expiresAt: 0 });
    const id = await get(API_PATH, { cookie, ...TRACE });
    expect(tokenRequests(testApp).map(({ headers }) => headers)).toEqual([expect.objectContaining(TRACE)]);
    await lineOf(id); // otherwise the line could appear during the next test
  });

  test('that is malformed is neither logged nor forwarded, and its tracestate is dropped', async () => {
    const id = await getFromService(MALFORMED);
    const [sent = { traceparent: 'no request' }] = sentHeaders();
    expect(Object.keys(sent).filter((name) => name.startsWith('trace'))).toEqual([]);
    expect(await lineOf(id)).not.toHaveProperty('traceId');
    expect(testApp.logged.join('').toLowerCase()).not.toContain(TRACE_ID);
  });
});
