import { once } from 'node:events';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Browser } from '../support/browser.ts';
import { startMetricsHouse } from '../support/metrics-house.ts';
import type { MetricsHouse } from '../support/metrics-house.ts';
import { sendRaw } from '../support/raw.ts';

let metrics: MetricsHouse;
beforeAll(async () => {
  metrics = await startMetricsHouse();
});
afterAll(async () => metrics[Symbol.asyncDispose]());

const words = (text: string) => text.trim().split(/\s+/);

/** All values that any label may ever have; what is not here, somebody has written there. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  route: words(`
    / /auth/login /auth/callback /auth/session /auth/logout /workspaces /workspaces/{id} /workspaces/{id}/{kind}
    /workspaces.csv /workspaces.ndjson /workspaces/{id}/{kind}.csv /workspaces/{id}/{kind}.ndjson
    /console /console/guide /openapi.json /api/* /assets/* /healthz /readyz none
  `),
  method: words('GET HEAD POST PUT PATCH DELETE OPTIONS other'),
  status: words('none 1xx 2xx 3xx 4xx 5xx'),
  caller: words('gateway pages'),
  grant: words('authorization_code refresh_token'),
  outcome: words(`
    granted invalid_grant refused unavailable led joined failed
    started signed_in denied unknown_state token_endpoint redis too_many
  `),
  trigger: words('spent ahead refused'),
  cause: words(
    'invalid_grant refused token_endpoint redis lock signed_out signed_in_again no_refresh_token age',
  ),
  command: words('read other'),
  kind: words('away timeout full other'),
  code: words(`
    sign_in_required session_expired cross_site_request path_not_allowed method_not_allowed too_busy bad_request
    bad_request_target body_too_large too_many_headers service_unreachable service_timeout token_endpoint_unavailable
    session_store_unavailable draining expectation_failed internal_error other
  `),
  version: ['0.1.0'],
  node: [process.version],
};

/** Label values of our own metrics that nobody has foreseen. */
async function strangers(): Promise<string[]> {
  const lines = (await metrics.text()).split('\n').filter((line) => line.startsWith('cloakroom_'));
  const labels = [...lines.join('\n').matchAll(/[{,](\w+)="((?:[^"\\]|\\.)*)"/g)];
  return labels.flatMap(([, name = '', value = '']) =>
    name === 'le' || ALLOWED[name]?.includes(value) === true ? [] : [`${name}=${value}`],
  );
}

async function ask(method: string, path: string, headers: Record<string, string>): Promise<void> {
  const asked = request(metrics.house.origin + path, { method, headers }).end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  await once(answer.resume(), 'close');
}

const path = fc
  .array(
    fc.oneof(
      fc.constantFrom('workspaces', 'api', 'public', 'v1', 'auth', 'login', 'assets', 'rooms.csv', '%2e%2e'),
      fc.stringMatching(/^[\w.~%-]{1,12}$/),
    ),
    { maxLength: 6 },
  )
  .map((segments) => `/${segments.join('/')}`);
const method = fc.constantFrom('GET', 'PUT', 'PROPFIND', 'M-SEARCH', 'PURGE', 'TRACE', 'HEAD', 'OPTIONS');

test('no path, method, query or header of a stranger becomes a label', async () => {
  const { cookie } = await metrics.house.enter();
  const hostile = fc.record({ method, path, query: fc.stringMatching(/^[\w=&%]{0,20}$/), own: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(hostile, async (one) => {
      const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
      const headers = { traceparent, ...(one.own && { cookie, 'x-requested-with': 'test' }) };
      await ask(one.method, `${one.path}?${one.query}`, headers);
    }),
    { numRuns: 150 },
  );
  expect(await strangers()).toEqual([]);
});

test('no strange method and no unreadable request becomes a label', async () => {
  for (const head of [
    'MADEUP / HTTP/1.1',
    'GET http://elsewhere/ HTTP/1.1',
    'CONNECT a:1 HTTP/1.1',
    'nonsense',
  ])
    await sendRaw(metrics.house, `${head}\r\nHost: a\r\nConnection: close\r\n\r\n`);
  expect(await strangers()).toEqual([]);
});

test('no word of the service’s, neither of its token endpoint nor of a callback, becomes a label', async () => {
  const { house } = metrics;
  const { cookie } = await house.enter({ expiresAt: 0 });
  house.intercept = (req, res) => {
    if (!req.url?.endsWith('/token')) return Boolean(res.writeHead(599).end());
    return Boolean(res.end('{"error":"a_made_up_error","error_description":"secret"}'));
  };
  await ask('GET', '/api/public/v1/things', { cookie });
  await ask('GET', '/api/public/v1/things', { cookie: (await house.enter()).cookie });
  const browser = new Browser();
  const begun = await browser.fetch(`${house.origin}/auth/login`);
  const state = new URL(begun.headers.get('location') ?? '').searchParams.get('state') ?? '';
  await browser.fetch(`${house.origin}/auth/callback?error=made_up&state=${state}`);
  expect(await strangers()).toEqual([]);
});

test('no metric names a session', async () => {
  const { cookie, id } = await metrics.house.enter();
  metrics.house.intercept = (_req, res) => Boolean(res.end('{}'));
  await ask('GET', '/api/public/v1/things', { cookie });
  expect(await metrics.text()).not.toContain(id);
});

test('without a port for them nothing is counted at all', async () => {
  const { startHouse } = await import('../support/house.ts');
  await using house = await startHouse();
  const { services } = house;
  expect([services.metrics, services.serviceMetrics, services.countSignIn]).toEqual([null, null, null]);
});
