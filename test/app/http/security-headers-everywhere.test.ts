import { beforeAll, expect, test } from '@jest/globals';
import { useTestApp } from '../../support/fixtures.ts';
import { sendRaw } from '../../support/raw-client.ts';

const testApp = useTestApp({ PUBLIC_URL: 'https://app.example' });
let cookie: string;

beforeAll(async () => {
  testApp.intercept = (_req, res) => {
    res.setHeader('access-control-allow-origin', '*').setHeader('x-powered-by', 'a service');
    return Boolean(res.end('{"value":[]}'));
  };
  ({ cookie } = await testApp.createSession());
});

/** Everything outside `/api/`: pages, error pages, redirects, exports, files and JSON. */
const OURS = [
  'GET /',
  'GET /workspaces',
  'GET /workspaces?page=nonsense',
  'GET /workspaces.csv',
  'GET /workspaces.ndjson',
  'GET /console',
  'GET /nowhere',
  'GET /%',
  'GET /auth/login',
  'GET /auth/callback?code=x&state=x',
  'GET /auth/session',
  'GET /auth/logout',
  'POST /auth/logout',
  'GET /openapi.json',
  'GET /assets/cloakroom.css',
  'GET /assets/workspaces.js',
  'GET /assets/nothing.js',
  'GET /healthz',
  'GET /readyz',
  'OPTIONS /workspaces',
  'TRACE /',
];
const OF_GATEWAY = [
  'GET /api/public/v1/things',
  'GET /api/nowhere',
  'GET /api/public/v1/authorization/oauth2/token',
  'GET /api/public/v1/..',
  'TRACE /api/public/v1/things',
];
const WITHOUT_COOKIE = ['GET /', 'GET /api/public/v1/things'];

/** Returns the header fields of a response, keyed by name. */
async function headersOf(line: string, withCookie: boolean): Promise<Map<string, string>> {
  const fields = ['Host: x', 'Connection: close', ...(withCookie ? [`Cookie: ${cookie}`] : [])];
  const response = await sendRaw(testApp, [`${line} HTTP/1.1`, ...fields, '', ''].join('\r\n'));
  const [status = '', ...lines] = (response.split('\r\n\r\n', 1)[0] ?? '').split('\r\n');
  expect(status).toMatch(/^HTTP\/1\.1 [2-5]\d\d /);
  return new Map(
    lines.map((field) => [field.split(':', 1)[0]?.toLowerCase() ?? '', field.replace(/^[^:]*: */, '')]),
  );
}

/** A response from the service may keep the service's own headers. */
const isOfService = (line: string, withCookie: boolean) => withCookie && line === 'GET /api/public/v1/things';

const cases = [
  ...[...OURS, ...OF_GATEWAY].map((line) => [line, true] as const),
  ...WITHOUT_COOKIE.map((line) => [line, false] as const),
];

test.each(cases)('the response to %s (cookie: %j) has the security headers', async (line, withCookie) => {
  const headers = await headersOf(line, withCookie);
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('strict-transport-security')).toBe('max-age=31536000');
  expect(headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
  expect([...headers.keys()].filter((name) => /^access-control-|^server$/.test(name))).toEqual([]);
});

// Express itself responds to OPTIONS, with only a list of methods.
const ownCases = cases.filter(
  ([line, withCookie]) => !isOfService(line, withCookie) && !line.startsWith('OPTIONS'),
);

test.each(ownCases)(
  'the response to %s (cookie: %j) has a content type and does not name any software',
  async (line, withCookie) => {
    const headers = await headersOf(line, withCookie);
    expect(headers.get('content-type')).toMatch(/^(?:text\/[\w-]+; charset=utf-8|application\/)/);
    expect(headers.has('x-powered-by')).toBe(false);
  },
);

test.each(OURS)(
  'the response to %s restricts cross-origin use, and caches may store it only if it is the same for all users',
  async (line) => {
    const headers = await headersOf(line, true);
    expect(headers.get('cross-origin-opener-policy')).toBe('same-origin');
    expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
    const caching = line === 'GET /openapi.json' ? 'public, max-age=300' : 'no-store';
    expect(headers.get('cache-control')).toBe(caching);
  },
);

test('the cookie used in these tests belongs to a signed-in session', async () => {
  expect((await headersOf('GET /workspaces', true)).has('location')).toBe(false);
});
