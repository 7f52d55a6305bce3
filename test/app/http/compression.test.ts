import { beforeAll, expect, test } from '@jest/globals';
import { useTestApp } from '../../support/fixtures.ts';
import { sendJson } from '../../support/test-app.ts';
import { routes } from '../../unit/console/openapi-document.ts';

const testApp = useTestApp();
let cookies: readonly string[];
beforeAll(async () => {
  testApp.intercept = (_req, res) => {
    sendJson(res, 200, { id: 'w1', name: 'One', value: [{ id: 'w1', name: 'One' }] });
    return true;
  };
  const create = async (name: string) =>
    testApp.createSession({ accessToken: name, refreshToken: `${name} r` });
  cookies = [(await create('first')).cookie, (await create('second')).cookie];
});

/** Sends a request as a browser does. `fetch` decodes the body. */
async function send(
  path: string,
  coding = 'gzip, deflate, br, zstd',
  cookie = cookies[0] ?? '',
  method = 'GET',
) {
  const headers = { cookie, 'accept-encoding': coding, accept: 'text/html' };
  const response = await fetch(testApp.origin + path, { method, headers, redirect: 'manual' });
  return { headers: Object.fromEntries(response.headers), text: await response.text() };
}

async function codingsOf(paths: readonly string[]) {
  const codings = new Set();
  for (const path of paths) codings.add((await send(path)).headers['content-encoding']);
  return [...codings];
}

/** The paths that respond to GET, with examples for parameters. */
const PATHS = routes()
  .filter(({ method }) => method === 'GET')
  .map(({ path }) =>
    path.replace('{path}', 'public/v1/rooms').replace('{id}', 'w1').replace('{kind}', 'rooms'),
  );
const COMPRESSED = PATHS.filter((path) => /^\/(?:console|openapi|workspaces)/.test(path));

test('only pages, exports and files are compressed, and never errors or API responses', async () => {
  const others = PATHS.filter((path) => !COMPRESSED.includes(path));
  expect(others).toContain('/api/public/v1/rooms');
  expect(await codingsOf([...others, '/nowhere', '/auth/callback?error=x'])).toEqual([undefined]);
  expect(await codingsOf(COMPRESSED)).toEqual(['br']);
  expect((await send('/', 'br', '')).headers['content-encoding']).toBe('br');
});

// A session id, a token or a CSRF token would differ between two sessions.
test.each(COMPRESSED)('%s contains no secret, because it is the same in each session', async (path) => {
  const [one, other] = await Promise.all(
    cookies.map(async (cookie) =>
      (await send(path, 'br', cookie)).text.replace(/ data-session="[\d:.TZ-]+"/, ''),
    ),
  );
  expect(one).toBe(other);
});

test.each([
  ...[
    'find=a',
    'a=',
    '1',
    'page=1&x=a',
    'back=find%3Da',
    'back=limit%3D1%26page%3D2%26find%3Da',
    'page=1&page=2',
  ].map((query) => [query, undefined] as const),
  ...['', 'limit=10&page=2', 'back=limit%3D10%26page%3D2'].map((query) => [query, 'br'] as const),
])('a response that may repeat text from the query is not compressed (%s: %s)', async (query, coding) => {
  expect(await codingsOf(COMPRESSED.map((path) => `${path}?${query}`))).toEqual([coding]);
});

test.each([
  ['gzip, deflate, br, zstd', 'br'],
  ['gzip, deflate', 'gzip'],
  ['br;q=0, *', 'gzip'],
  ['br;q=0', undefined],
  ['identity;q=0', undefined],
  ['*;q=0', undefined],
  ['', undefined],
])('a client that accepts %j gets the coding %j', async (accepted, coding) => {
  for (const path of ['/console', testApp.services.assets.url('cloakroom.css')]) {
    const { headers, text } = await send(path, accepted);
    expect(headers['content-encoding']).toBe(coding);
    expect(headers['vary']).toBe('Accept-Encoding');
    expect(text).toBe((await send(path, '')).text);
    const head = await send(path, accepted, cookies[0], 'HEAD');
    expect(head.headers['content-encoding']).toBe(coding);
    expect(head.headers['content-length']).toBe(headers['content-length']);
  }
});
