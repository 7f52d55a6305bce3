import { expect, test } from '@jest/globals';
import request from 'supertest';
import { json } from '../../support/raw-service.ts';
import { namesIn, withEmptyRedis } from './browser-app.ts';
import { startSmallService, workspaces } from './small-service.ts';

const start = withEmptyRedis();

/** A walk ends after ten seconds: where calls are counted it has all the time that it needs. */
const TIMELESS = { now: () => 0 };

test('The bare address shows the first 25 of 137 workspaces', async () => {
  await using service = await startSmallService(workspaces(137));
  await using app = await start(service);
  const page = await request(app.server)
    .get('/workspaces')
    .expect(200)
    .expect('content-type', /^text\/html/);
  expect(namesIn(page.text)).toEqual(workspaces(25).map(({ name }) => name));
  expect(page.text).toContain('Items 1–25');
  expect(page.text).toContain('href="/workspaces?limit=25&amp;page=2"');
  expect(page.text).not.toMatch(/rel="(first|prev)"/);
});

test('A middle page links to the first, the previous and the next one', async () => {
  await using service = await startSmallService(workspaces(137));
  await using app = await start(service);
  const page = await request(app.server).get('/workspaces?limit=25&page=3').expect(200);
  expect(namesIn(page.text).at(0)).toBe('Workspace 51');
  expect(page.text).toContain('rel="first" href="/workspaces?limit=25&amp;page=1"');
  expect(page.text).toContain('rel="prev" href="/workspaces?limit=25&amp;page=2"');
  expect(page.text).toContain('rel="next" href="/workspaces?limit=25&amp;page=4"');
});

test('The last page is short and leads no further', async () => {
  await using service = await startSmallService(workspaces(137));
  await using app = await start(service);
  const page = await request(app.server).get('/workspaces?page=6').expect(200);
  expect(namesIn(page.text)).toHaveLength(12);
  expect(page.text).toContain('Items 126–137');
  expect(page.text).not.toContain('rel="next"');
});

test('A list of one page has no page links', async () => {
  await using service = await startSmallService(workspaces(3));
  await using app = await start(service);
  const page = await request(app.server).get('/workspaces').expect(200);
  expect(page.text).not.toContain('aria-label="Pages"');
  expect(page.text).not.toContain('Page 1');
  expect(page.text).not.toContain('per page');
});

test('A page past the end shows the last one and says so', async () => {
  await using service = await startSmallService(workspaces(137));
  await using app = await start(service);
  const page = await request(app.server).get('/workspaces?page=99').expect(200);
  expect(namesIn(page.text).at(-1)).toBe('Workspace 137');
  expect(page.text).toContain('There is no page 99');
  expect(page.text).toContain('rel="prev" href="/workspaces?limit=25&amp;page=5"');
});

test('The largest page number there is shows the last page', async () => {
  await using service = await startSmallService(workspaces(60));
  await using app = await start(service);
  const page = await request(app.server).get('/workspaces?page=99999999999999999999999').expect(200);
  expect(namesIn(page.text).at(-1)).toBe('Workspace 60');
});

test('The same limit goes with every token, and the token arrives as it was given', async () => {
  await using service = await startSmallService(workspaces(137));
  await using app = await start(service);
  await request(app.server).get('/workspaces?limit=10&page=5').expect(200);
  expect(service.calls.map(({ limit }) => limit)).toEqual(['10', '10', '10', '10', '10']);
  expect(service.calls.map(({ next }) => next)).toEqual([null, ...service.given.slice(0, 4)]);
});

test('A page that was walked to before takes one call', async () => {
  await using service = await startSmallService(workspaces(137));
  await using app = await start(service);
  await request(app.server).get('/workspaces?page=5').expect(200);
  service.calls.length = 0;
  const page = await request(app.server).get('/workspaces?page=4').expect(200);
  expect(namesIn(page.text).at(0)).toBe('Workspace 76');
  expect(service.calls).toHaveLength(1);
});

test('A jump walks on from the nearest page that is known', async () => {
  await using service = await startSmallService(workspaces(137));
  await using app = await start(service);
  await request(app.server).get('/workspaces?limit=10&page=4').expect(200);
  service.calls.length = 0;
  const page = await request(app.server).get('/workspaces?limit=10&page=8').expect(200);
  expect(page.text).toContain('Items 71–80');
  expect(service.calls).toHaveLength(4); // pages 5 (known from page 4) to 8
});

test('Tabs with different page sizes, and sessions, don’t disturb each other', async () => {
  await using service = await startSmallService(workspaces(137));
  await using app = await start(service);
  const visit = async (session: string, address: string) => {
    const page = await request(app.server).get(address).set('x-test-session', session).expect(200);
    return namesIn(page.text).at(0);
  };
  await visit('session-a', '/workspaces?limit=10&page=2');
  await visit('session-a', '/workspaces?limit=50&page=2');
  await visit('session-b', '/workspaces?limit=10&page=4');
  service.calls.length = 0;
  expect(await visit('session-a', '/workspaces?limit=10&page=3')).toBe('Workspace 21');
  expect(await visit('session-a', '/workspaces?limit=50&page=3')).toBe('Workspace 101');
  expect(await visit('session-b', '/workspaces?limit=10&page=5')).toBe('Workspace 41');
  expect(service.calls).toHaveLength(3); // each knew its own way
});

test('A kept token that the service refuses is forgotten, and the page walked to again', async () => {
  await using service = await startSmallService(workspaces(137));
  await using app = await start(service);
  await request(app.server).get('/workspaces?page=6').expect(200);
  service.expireTokens();
  const page = await request(app.server).get('/workspaces?page=3').expect(200);
  expect(namesIn(page.text).at(0)).toBe('Workspace 51');
  service.calls.length = 0;
  await request(app.server).get('/workspaces?page=5').expect(200);
  expect(service.calls).toHaveLength(2); // pages 4 and 5: the old token of page 5 is gone as well
});

test('A service that refuses every token is asked again once, not for ever', async () => {
  await using service = await startSmallService(
    workspaces(137),
    ({ next }) => next !== null && json(400, { code: 'NEXT_TOKEN_EXPIRED' }),
  );
  await using app = await start(service);
  await request(app.server).get('/workspaces').expect(200);
  service.calls.length = 0;
  const page = await request(app.server).get('/workspaces?page=2').expect(502);
  expect(page.text).toContain('The service could not load this page');
  expect(service.calls.map(({ next }) => next !== null)).toEqual([true, false, true]);
});

test('A list that leads back to an earlier page is an error, not an endless walk', async () => {
  const cycle: Record<string, string> = { '': 'a', a: 'b', b: 'a' };
  await using service = await startSmallService([], ({ next }) =>
    json(200, { value: [1], next: cycle[next ?? ''] }),
  );
  await using app = await start(service);
  const page = await request(app.server).get('/workspaces?page=50').expect(502);
  expect(page.text).toContain('The service sent something unexpected');
  expect(service.calls).toHaveLength(3);
});

test('A walk makes at most 200 calls, shows how far it came, and goes on from there', async () => {
  await using service = await startSmallService(workspaces(320));
  await using app = await start(service, TIMELESS);
  const page = await request(app.server).get('/workspaces?limit=1&page=300').expect(200);
  expect(service.calls).toHaveLength(200);
  expect(namesIn(page.text)).toEqual(['Workspace 200']);
  expect(page.text).toContain('Page 300 is too far away to load at once. This is page 200.');
  expect(page.text).toContain('<a href="/workspaces?limit=1&amp;page=300">Continue to page 300</a>');
  const further = await request(app.server).get('/workspaces?limit=1&page=300').expect(200);
  expect(namesIn(further.text)).toEqual(['Workspace 300']);
});

test('No link leads towards a page that nobody will reach', async () => {
  await using service = await startSmallService(workspaces(320));
  await using app = await start(service, TIMELESS);
  const page = await request(app.server).get('/workspaces?limit=1&page=99999999').expect(200);
  expect(page.text).toContain('is too far away to load at once. This is page 200.');
  expect(page.text).not.toContain('Continue to');
});

test('A walk stops after ten seconds and shows how far it came', async () => {
  let time = 0;
  await using service = await startSmallService(workspaces(137), () => {
    time += 4_000;
    return false;
  });
  await using app = await start(service, { now: () => time });
  const page = await request(app.server).get('/workspaces?limit=1&page=50').expect(200);
  expect(namesIn(page.text)).toEqual(['Workspace 3']);
});

test('A walk that the service finds too fast shows how far it came', async () => {
  await using service = await startSmallService(
    workspaces(137),
    (_call, _socket, nth) => nth >= 4 && json(429, {}),
  );
  await using app = await start(service);
  const page = await request(app.server).get('/workspaces?limit=10&page=9').expect(200);
  expect(page.text).toContain('This is page 3.');
});

test('What a walk found before it failed is kept', async () => {
  let failing = true;
  await using service = await startSmallService(
    workspaces(137),
    (_call, _socket, nth) => failing && nth >= 4 && json(500, {}),
  );
  await using app = await start(service);
  await request(app.server).get('/workspaces?limit=10&page=9').expect(502);
  failing = false;
  service.calls.length = 0;
  await request(app.server).get('/workspaces?limit=10&page=4').expect(200);
  expect(service.calls).toHaveLength(1);
});

test('Items are counted as they came, also where the service gives fewer than asked for', async () => {
  const pages: Record<string, unknown> = {
    '': { value: [{ name: 'one' }], next: 'second' },
    second: { value: [{ name: 'two' }, { name: 'three' }] },
  };
  await using service = await startSmallService([], ({ next }) => json(200, pages[next ?? '']));
  await using app = await start(service);
  const first = await request(app.server).get('/workspaces').expect(200);
  expect(first.text).toContain('Item 1 ');
  const second = await request(app.server).get('/workspaces?page=2').expect(200);
  expect(second.text).toContain('Items 2–3');
});

test('An empty list says so', async () => {
  await using service = await startSmallService([]);
  await using app = await start(service);
  const page = await request(app.server).get('/workspaces').expect(200);
  expect(page.text).toContain('You have no workspaces yet.');
  expect(page.text).not.toMatch(/Page 1|per page/);
});

test('A walk ends with its session, shows nothing, and leaves nothing', async () => {
  let ended = false;
  await using service = await startSmallService(workspaces(1_000), (_call, _socket, nth) => {
    ended = nth === 3;
    return false;
  });
  await using app = await start(service, { hasEnded: () => ended });
  const page = await request(app.server).get('/workspaces?limit=10&page=50').expect(303);
  expect(page.headers['location']).toMatch(/^\/auth\/login\?return_to=/);
  expect(service.calls).toHaveLength(3);
  expect(await app.redis.dbsize()).toBe(0);
});
