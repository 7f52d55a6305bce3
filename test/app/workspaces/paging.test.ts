import { expect, test } from '@jest/globals';
import { json } from '../../support/raw-service.ts';
import { namesIn, useEmptyRedis } from './browser-app.ts';
import { workspaces } from './small-service.ts';

const start = useEmptyRedis();

/** Because the clock is stopped, seeking ends after the maximum number of requests, not after ten seconds. */
const STOPPED_CLOCK = { now: () => 0 };

test('the URL without parameters shows the first 25 workspaces', async () => {
  await using app = await start(workspaces(137));
  const page = await app.get('/workspaces', 200);
  expect(page.headers['content-type']).toMatch(/^text\/html/);
  expect(namesIn(page.text)).toEqual(workspaces(25).map(({ name }) => name));
  expect(page.text).toContain('Workspaces 1–25');
  expect(page.text).toContain('href="/workspaces?limit=25&amp;page=2"');
  expect(page.text).not.toMatch(/rel="(first|prev)"/);
});

test('a middle page links to the first, the previous and the next page', async () => {
  await using app = await start(workspaces(137));
  const page = await app.get('/workspaces?limit=25&page=3', 200);
  expect(namesIn(page.text).at(0)).toBe('Workspace 51');
  for (const [rel, target] of [
    ['first', 1],
    ['prev', 2],
    ['next', 4],
  ] as const)
    expect(page.text).toContain(`rel="${rel}" href="/workspaces?limit=25&amp;page=${target}"`);
});

test.each([
  ['99', '99'],
  ['99999999999999999999999', '1000000'],
])('page %s of a list with six pages shows the last page', async (number, shown) => {
  await using app = await start(workspaces(137));
  const page = await app.get(`/workspaces?page=${number}`, 200);
  expect(namesIn(page.text)).toHaveLength(12);
  expect(page.text).toContain('Workspaces 126–137');
  expect(page.text).toContain(`There is no page ${shown}.`);
  expect(page.text).toContain('rel="prev" href="/workspaces?limit=25&amp;page=5"');
  expect(page.text).not.toContain('rel="next"');
});

test('every request for a list has the same limit, and each cursor is sent unchanged', async () => {
  await using app = await start(workspaces(137));
  await app.get('/workspaces?limit=10&page=5', 200);
  expect(app.service.requests.map(({ limit }) => limit)).toEqual(['10', '10', '10', '10', '10']);
  expect(app.service.requests.map(({ next }) => next)).toEqual([null, ...app.service.cursors.slice(0, 4)]);
});

test('seeking starts at the nearest page whose cursor is known', async () => {
  await using app = await start(workspaces(137));
  await app.get('/workspaces?limit=10&page=4', 200);
  app.service.requests.length = 0;
  const known = await app.get('/workspaces?limit=10&page=3', 200);
  expect(known.text).toContain('Workspaces 21–30');
  expect(app.service.requests).toHaveLength(1);
  const later = await app.get('/workspaces?limit=10&page=8', 200);
  expect(later.text).toContain('Workspaces 71–80');
  expect(app.service.requests).toHaveLength(1 + 4); // pages 5 to 8, because page 4 contained the cursor for page 5
});

test('each page size and each session has separate cursors', async () => {
  await using app = await start(workspaces(137));
  const visit = async (session: string, url: string) => {
    const page = await app.get(url, 200, session);
    return namesIn(page.text).at(0);
  };
  await visit('session-a', '/workspaces?limit=10&page=2');
  await visit('session-a', '/workspaces?limit=50&page=2');
  await visit('session-b', '/workspaces?limit=10&page=4');
  app.service.requests.length = 0;
  expect(await visit('session-a', '/workspaces?limit=10&page=3')).toBe('Workspace 21');
  expect(await visit('session-a', '/workspaces?limit=50&page=3')).toBe('Workspace 101');
  expect(await visit('session-b', '/workspaces?limit=10&page=5')).toBe('Workspace 41');
  expect(app.service.requests).toHaveLength(3);
});

test('after an expired cursor, all cursors for the list are dropped and seeking starts at the first page', async () => {
  await using app = await start(workspaces(137));
  await app.get('/workspaces?page=6', 200);
  app.service.expireCursors();
  const page = await app.get('/workspaces?page=3', 200);
  expect(namesIn(page.text).at(0)).toBe('Workspace 51');
  app.service.requests.length = 0;
  await app.get('/workspaces?page=5', 200);
  expect(app.service.requests).toHaveLength(2); // pages 4 and 5, because the old cursor for page 5 was also dropped
});

test('if a stored cursor is refused, seeking restarts once at the first page', async () => {
  await using app = await start(
    workspaces(137),
    ({ next }) => next !== null && json(400, { code: 'NEXT_TOKEN_EXPIRED' }),
  );
  await app.get('/workspaces', 200);
  app.service.requests.length = 0;
  const page = await app.get('/workspaces?page=2', 502);
  expect(page.text).toContain('Your workspaces can’t be loaded');
  expect(app.service.requests.map(({ next }) => next !== null)).toEqual([true, false, true]);
});

test('a list whose cursors lead back to an earlier page results in an error page', async () => {
  const cycle: Record<string, string> = { '': 'a', a: 'b', b: 'a' };
  await using app = await start([], ({ next }) => json(200, { value: [1], next: cycle[next ?? ''] }));
  const page = await app.get('/workspaces?page=50', 502);
  expect(page.text).toContain('The service sent an unexpected response');
  expect(app.service.requests).toHaveLength(3);
});

test('after 200 requests, seeking shows the page that it reached and a link to continue', async () => {
  await using app = await start(workspaces(320), undefined, STOPPED_CLOCK);
  const page = await app.get('/workspaces?limit=1&page=300', 200);
  expect(app.service.requests).toHaveLength(200);
  expect(namesIn(page.text)).toEqual(['Workspace 200']);
  expect(page.text).toContain('Page 300 is too far ahead to load in one step. This is page 200.');
  expect(page.text).toContain('<a href="/workspaces?limit=1&amp;page=300">Continue to page 300</a>');
  const further = await app.get('/workspaces?limit=1&page=300', 200);
  expect(namesIn(further.text)).toEqual(['Workspace 300']);
});

test('the link to continue is omitted if the requested page is more than 10,000 pages away', async () => {
  await using app = await start(
    [],
    ({ next }) => json(200, { value: [{}], next: `${Number(next ?? 0) + 1}` }),
    STOPPED_CLOCK,
  );
  const page = await app.get('/workspaces?limit=1&page=99999999', 200);
  expect(page.text).toContain('is too far ahead to load in one step. This is page 200.');
  expect(page.text).not.toContain('Continue to');
});

test('after ten seconds, seeking shows the page that it reached', async () => {
  let time = 0;
  await using app = await start(
    workspaces(137),
    () => {
      time += 4_000;
      return false;
    },
    { now: () => time },
  );
  const page = await app.get('/workspaces?limit=1&page=50', 200);
  expect(namesIn(page.text)).toEqual(['Workspace 3']);
});

test('if the service limits the request rate, seeking shows the page that it reached', async () => {
  await using app = await start(workspaces(137), (_request, _socket, nth) => nth >= 4 && json(429, {}));
  const page = await app.get('/workspaces?limit=10&page=9', 200);
  expect(page.text).toContain('This is page 3.');
});

test('cursors that were found before a failure are stored', async () => {
  let failing = true;
  await using app = await start(
    workspaces(137),
    (_request, _socket, nth) => failing && nth >= 4 && json(500, {}),
  );
  await app.get('/workspaces?limit=10&page=9', 502);
  failing = false;
  app.service.requests.length = 0;
  await app.get('/workspaces?limit=10&page=4', 200);
  expect(app.service.requests).toHaveLength(1);
});

test('items are numbered correctly even if the service sends fewer than requested', async () => {
  const pages: Record<string, unknown> = {
    '': { value: [{ name: 'one' }], next: 'second' },
    second: { value: [{ name: 'two' }, { name: 'three' }] },
  };
  await using app = await start([], ({ next }) => json(200, pages[next ?? '']));
  const first = await app.get('/workspaces', 200);
  expect(first.text).toContain('Workspace 1 ');
  const second = await app.get('/workspaces?page=2', 200);
  expect(second.text).toContain('Workspaces 2–3');
});

test('the page for an empty list says so and has no links to other pages', async () => {
  await using app = await start([]);
  const page = await app.get('/workspaces', 200);
  expect(page.text).toContain('You have no workspaces yet.');
  expect(page.text).not.toMatch(/aria-label="Pages"|Page 1|per page/);
});

test('seeking stops if the session ends, and no cursors are stored', async () => {
  let ended = false;
  await using app = await start(
    workspaces(1_000),
    (_request, _socket, nth) => {
      ended = nth === 3;
      return false;
    },
    { hasEnded: () => ended },
  );
  const page = await app.get('/workspaces?limit=10&page=50', 303);
  expect(page.headers['location']).toBe('/auth/login?return_to=%2Fworkspaces%3Flimit%3D10%26page%3D50');
  expect(app.service.requests).toHaveLength(3);
  expect(await app.redis.dbsize()).toBe(0);
});
