import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestApp } from '../../support/test-app.ts';
import type { TestApp } from '../../support/test-app.ts';
import { sendRaw } from '../../support/raw.ts';

let testApp: TestApp;
let cookie: string;

beforeAll(async () => {
  testApp = await startTestApp({ PUBLIC_URL: 'https://app.example' });
  testApp.intercept = (_req, res) => {
    res.setHeader('access-control-allow-origin', '*').setHeader('x-powered-by', 'a service');
    return Boolean(res.end('{"value":[]}'));
  };
  ({ cookie } = await testApp.enter());
});
afterAll(async () => testApp[Symbol.asyncDispose]());

/** What is not under `/api/`: pages, errors among them, redirects, exports, files and JSON. */
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
  'GET /assets/cloakroom.js',
  'GET /assets/nothing.js',
  'GET /healthz',
  'GET /readyz',
  'OPTIONS /workspaces',
  'TRACE /',
];
const GATEWAYS = [
  'GET /api/public/v1/things',
  'GET /api/nowhere',
  'GET /api/public/v1/authorization/oauth2/token',
  'GET /api/public/v1/..',
  'TRACE /api/public/v1/things',
];
const WITHOUT_COOKIE = ['GET /', 'GET /api/public/v1/things'];

/** The head of an answer, its fields by name. */
async function headersOf(line: string, withCookie: boolean): Promise<Map<string, string>> {
  const fields = ['Host: x', 'Connection: close', ...(withCookie ? [`Cookie: ${cookie}`] : [])];
  const answer = await sendRaw(testApp, [`${line} HTTP/1.1`, ...fields, '', ''].join('\r\n'));
  const [status = '', ...lines] = (answer.split('\r\n\r\n', 1)[0] ?? '').split('\r\n');
  expect(status).toMatch(/^HTTP\/1\.1 [2-5]\d\d /);
  return new Map(
    lines.map((each) => {
      const at = each.indexOf(':');
      return [each.slice(0, at).toLowerCase(), each.slice(at + 1).trim()];
    }),
  );
}

const cases = [
  ...[...OURS, ...GATEWAYS].map((line) => [line, true] as const),
  ...WITHOUT_COOKIE.map((line) => [line, false] as const),
];

/** What the service says of its own answer is its own. */
const isServices = (line: string, withCookie: boolean) => withCookie && line === 'GET /api/public/v1/things';

describe.each(cases)('%s (with a cookie: %j)', (line, withCookie) => {
  test('lets no browser guess its type', async () => {
    expect((await headersOf(line, withCookie)).get('x-content-type-options')).toBe('nosniff');
  });

  test('lets no other site read it, and does not say what it was made with', async () => {
    const names = [...(await headersOf(line, withCookie)).keys()];
    const told = /^access-control-|^server$/.source + (isServices(line, withCookie) ? '' : '|^x-powered-by$');
    expect(names.filter((name) => new RegExp(told).test(name))).toEqual([]);
  });
});

// Express itself answers OPTIONS, with the names of methods and nothing else.
test.each(cases.filter(([line, withCookie]) => !isServices(line, withCookie) && !line.startsWith('OPTIONS')))(
  '%s (with a cookie: %j) names its type, and how text is encoded',
  async (line, withCookie) => {
    const type = (await headersOf(line, withCookie)).get('content-type');
    expect(type).toMatch(/^(?:text\/[\w-]+; charset=utf-8|application\/)/);
  },
);

test.each(cases)(
  '%s (with a cookie: %j) asks for https from now on, and is framed by nobody',
  async (line, withCookie) => {
    const headers = await headersOf(line, withCookie);
    expect(headers.get('strict-transport-security')).toBe('max-age=31536000');
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
  },
);

test('whoever is signed in sees their pages in this', async () => {
  expect((await headersOf('GET /workspaces', true)).has('location')).toBe(false);
});

test.each(OURS)('%s is none of other sites’', async (line) => {
  const headers = await headersOf(line, true);
  expect(headers.get('cross-origin-opener-policy')).toBe('same-origin');
  expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
});

test.each(OURS)('%s is kept by nobody, unless it is the same for everybody', async (line) => {
  const caching = (await headersOf(line, true)).get('cache-control');
  expect(caching).toBe(line === 'GET /openapi.json' ? 'public, max-age=300' : 'no-store');
});
