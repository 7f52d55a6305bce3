import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { WORKSPACES_PATH } from '../../support/constants.ts';
import { sendJson, startTestApp, type Interceptor } from '../../support/test-app.ts';
import type { Browser } from '../../support/browser.ts';
import { useTestApp } from '../../support/fixtures.ts';

const testApp = useTestApp();
let browser: Browser;

beforeAll(async () => {
  ({ browser } = await testApp.signIn());
});
beforeEach(() => {
  testApp.intercept = () => false;
  testApp.serviceRequests.length = 0;
});

/** Responds to requests for one path. The local service responds to all other requests. */
function respondingAt(
  path: string,
  respond: (res: Parameters<Interceptor>[1], query: URLSearchParams) => void,
): Interceptor {
  return (req, res) => {
    const [requested, query] = (req.url ?? '').split('?');
    if (requested !== path) return false;
    respond(res, new URLSearchParams(query));
    return true;
  };
}

/** Serves a workspace `w1` with this many rooms, page by page. */
function withRooms(count: number): Interceptor {
  const rooms = Array.from({ length: count }, (_, index) => ({ name: `Room ${index + 1}` }));
  return respondingAt(`${WORKSPACES_PATH}/w1/rooms`, (res, query) => {
    const from = Number(query.get('next') ?? 0);
    const end = from + Number(query.get('limit'));
    sendJson(res, 200, { value: rooms.slice(from, end), ...(end < count && { next: String(end) }) });
  });
}

describe('inside a workspace', () => {
  test('each kind of item has a tab, and the URL without a kind shows the first tab', async () => {
    testApp.intercept = withRooms(2);
    const page = await browser.open(`${testApp.origin}/workspaces/w1`);
    expect(page.status).toBe(200);
    expect(page.text).toContain('<a href="/workspaces/w1" aria-current="page">Rooms</a>');
    expect(page.text).toContain('<a href="/workspaces/w1/murals">Murals</a>');
    expect(page.text).toContain('>Room 1<');
    expect(page.text).toContain('Rooms 1–2');
  });

  test('pages of items link to each other and keep the link back to the list', async () => {
    testApp.intercept = withRooms(60);
    const back = encodeURIComponent('limit=10&page=3');
    const page = await browser.open(`${testApp.origin}/workspaces/w1/rooms?limit=25&page=2&back=${back}`);
    expect(page.text).toContain('Rooms 26–50');
    const kept = `&amp;back=${back}`;
    expect(page.text).toContain(`rel="prev" href="/workspaces/w1/rooms?limit=25&amp;page=1${kept}"`);
    expect(page.text).toContain(`rel="next" href="/workspaces/w1/rooms?limit=25&amp;page=3${kept}"`);
    expect(page.text).toContain(
      `href="/workspaces/w1/rooms?limit=50&amp;page=1${kept}" aria-label="50 per page"`,
    );
    expect(page.text).toContain(`<a href="/workspaces/w1/murals?back=${back}">Murals</a>`);
    expect(page.text).toContain('<input type="hidden" name="back" value="limit=10&amp;page=3">');
    expect(page.text).toMatch(/href="\/workspaces\?limit=10&amp;page=3">[^\n]*Workspaces, page 3/);
  });

  test('the page shows the name and the details of the workspace', async () => {
    const { text } = await browser.open(`${testApp.origin}/workspaces`);
    const [, id = '', name = ''] = /href="\/workspaces\/(workspace\d+)"[^>]*>([^<]+)</.exec(text) ?? [];
    const page = await browser.open(`${testApp.origin}/workspaces/${id}`);
    expect(page.text).toContain(`<h1 class="page-head__name" dir="auto">${name}</h1>`);
    expect(page.text).toContain(`<title>Rooms in ${name} · Cloakroom</title>`);
    expect(page.text).toMatch(/<dt><bdi>Created by<\/bdi><\/dt>/);
  });

  test.each([
    ['responds with a 404', (res) => sendJson(res, 404, { code: 'PATH_NOT_FOUND' })],
    ['sends invalid JSON', (res) => res.end('<html>')],
    ['sends JSON of a different shape', (res) => sendJson(res, 200, { value: ['x'] })],
    ['closes the connection', (res) => res.destroy()],
    ['never responds', () => {}],
  ] satisfies [string, (res: Parameters<Interceptor>[1]) => void][])(
    'the list is shown even if the workspace details fail to load (the service %s)',
    async (_what, respond) => {
      const single = respondingAt(`${WORKSPACES_PATH}/w1`, respond);
      const list = withRooms(2);
      testApp.intercept = (req, res) => single(req, res) || list(req, res);
      const page = await browser.open(`${testApp.origin}/workspaces/w1`);
      expect(page.status).toBe(200);
      expect(page.text).toContain('<h1 class="page-head__name" dir="auto">w1</h1>');
      expect(page.text).toContain('>Room 1<');
    },
  );

  test('a search for items keeps the page, the page size and the link back to the list', async () => {
    testApp.intercept = withRooms(230);
    const page = await browser.open(
      `${testApp.origin}/workspaces/w1/rooms?limit=10&page=2&find=room%20199&back=page%3D3`,
    );
    expect(page.text).toContain('1 of 230 rooms matches “room 199”');
    expect(page.text).toContain('>Room 199<');
    const all = '/workspaces/w1/rooms?limit=10&amp;page=2&amp;back=limit%3D25%26page%3D3';
    expect(page.text).toContain(`href="${all}">Show all rooms</a>`);
  });

  test.each([
    [404, 404, 'This workspace can’t be opened'],
    [500, 502, 'This list can’t be loaded'],
    [429, 503, 'Too many requests just now'],
  ])('an error page keeps the link back (the service responds with a %d)', async (sent, status, words) => {
    testApp.intercept = respondingAt(`${WORKSPACES_PATH}/w1/rooms`, (res) => sendJson(res, sent, {}));
    const page = await browser.open(`${testApp.origin}/workspaces/w1/rooms?back=limit%3D10%26page%3D3`);
    expect(page.status).toBe(status);
    expect(page.text).toContain(words);
    const href = '/workspaces?limit=10&amp;page=3';
    expect(page.text).toMatch(new RegExp(`<a href="${href.replace('?', '\\?')}">.*Workspaces, page 3<`));
    expect(page.text).toContain('href="/workspaces">Go to your workspaces</a>');
    expect(page.text).toContain('<a href="/workspaces" aria-current="true">Workspaces</a>');
  });

  test('the error page for a Redis outage keeps the link back to the list', async () => {
    await testApp.redis.acl('SETUSER', 'default', '-getex');
    const page = await browser.open(`${testApp.origin}/workspaces/w1/rooms?back=limit%3D10%26page%3D3`);
    await testApp.redis.acl('SETUSER', 'default', '+getex');
    expect(page.status).toBe(503);
    expect(page.text).toContain('<a href="/workspaces?limit=10&amp;page=3">');
  });

  test('an error page for the list of workspaces has no link back', async () => {
    testApp.intercept = respondingAt(WORKSPACES_PATH, (res) => sendJson(res, 500, {}));
    const page = await browser.open(`${testApp.origin}/workspaces?page=2`);
    expect(page.text).toContain('<h1>Your workspaces can’t be loaded</h1>');
    expect(page.text).toContain('<a href="/workspaces" aria-current="true">Workspaces</a>');
    expect(page.text).not.toContain('class="way-back"');
  });

  test.each([
    ['/workspaces/w1/secrets', 404],
    ['/workspaces/w1/ROOMS', 404],
    ['/workspaces/w1/rooms/more', 404],
    ['/workspaces/w1/', 200],
  ])('only known kinds of item have a page (%s gets a %d)', async (path, status) => {
    testApp.intercept = withRooms(1);
    const page = await browser.open(testApp.origin + path);
    expect([page.status, testApp.serviceRequests.length > 0]).toEqual([status, status === 200]);
  });

  test.each([
    '%2e%2e',
    '.%2e',
    'a%2fb',
    'a%5cb',
    'a%252fb',
    'a%3bb',
    'a%00b',
    'a%0ab',
    'a%20b',
    '%EF%BC%8E%EF%BC%8E', // full-width dots
    '%E2%80%A5', // a two-dot leader
    '+..',
    '..%E2%80%8B',
    '%EF%BC%852e%EF%BC%852e',
    '%EF%BC%8E%EF%BC%8E%EF%BC%8Fauthorization%EF%BC%8Foauth2',
    'x'.repeat(257),
  ])('an id that could change the upstream path gets a 404 without an upstream request (%s)', async (id) => {
    const page = await browser.fetch(`${testApp.origin}/workspaces/${id}/rooms`);
    expect(page.status).toBe(404);
    expect(testApp.serviceRequests).toEqual([]);
  });

  test('an id with special characters reaches the service as one path segment', async () => {
    const path = `${WORKSPACES_PATH}/a%26%C3%A4.b/rooms`;
    testApp.intercept = respondingAt(path, (res) => sendJson(res, 200, { value: [] }));
    const page = await browser.open(`${testApp.origin}/workspaces/a&ä.b/rooms`);
    expect(page.status).toBe(200);
    expect(page.text).toContain('a&amp;ä.b</h1>');
  });

  test.each([
    '/workspaces/w1/rooms?limit=10&page=2',
    '/workspaces/w1.csv',
    '/workspaces/w1.ndjson?limit=10',
    '/workspaces/w1.csv/rooms',
  ])('a client without a session is sent to sign-in and then back to the same URL (%s)', async (path) => {
    const response = await fetch(testApp.origin + path, { redirect: 'manual' });
    expect(response.status).toBe(303);
    expect(response.headers.get('location')).toBe(`/auth/login?return_to=${encodeURIComponent(path)}`);
  });
});

test('WORKSPACE_ITEMS sets the kinds of item and their order', async () => {
  await using other = await startTestApp({ WORKSPACE_ITEMS: 'whiteboard-notes,rooms' });
  const signedIn = await other.signIn();
  const path = `${WORKSPACES_PATH}/w1/whiteboard-notes`;
  other.intercept = respondingAt(path, (res) => sendJson(res, 200, { value: [] }));
  const page = await signedIn.browser.open(`${other.origin}/workspaces/w1`);
  expect(page.text).toContain('<a href="/workspaces/w1" aria-current="page">Whiteboard notes</a>');
  expect(page.text).toContain('<a href="/workspaces/w1/rooms">Rooms</a>');
  expect(page.text).toContain('There are no whiteboard notes in this workspace yet.');
  expect((await signedIn.browser.open(`${other.origin}/workspaces/w1/murals`)).status).toBe(404);
});
