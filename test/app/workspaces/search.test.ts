import { expect, test } from '@jest/globals';
import request from 'supertest';
import { toItemRow } from '../../../src/workspaces/item-row.ts';
import { createMatcher } from '../../../src/workspaces/search.ts';
import { json } from '../../support/raw-service.ts';
import { namesIn, withEmptyRedis } from './browser-app.ts';
import { startSmallService, workspaces } from './small-service.ts';

const start = withEmptyRedis();

test('Finding walks all pages, of the largest size, and says that it has', async () => {
  await using service = await startSmallService(workspaces(250));
  await using app = await start(service);
  const page = await request(app.server).get('/workspaces?find=workspace%20%2099').expect(200);
  expect(namesIn(page.text)).toEqual(['Workspace 99', 'Workspace 199']);
  expect(page.text).toContain('2 matches for “workspace  99” in all 250 workspaces');
  expect(page.text).toContain('href="/workspaces">Show all workspaces</a>');
  expect(service.calls.map(({ limit }) => limit)).toEqual(['100', '100', '100']);
});

test('A single match is said in the singular, and keeps the way back to what was found', async () => {
  await using service = await startSmallService(workspaces(120));
  await using app = await start(service);
  const page = await request(app.server).get('/workspaces?find=117').expect(200);
  expect(page.text).toContain('1 match for “117” in all 120 workspaces');
  expect(page.text).toContain('href="/workspaces/w117?back=find%3D117"');
});

test('What is found keeps the page and the size of those that somebody came from, and leads back there', async () => {
  await using service = await startSmallService(workspaces(250));
  await using app = await start(service);
  const kept = (page: string) =>
    [...page.matchAll(/<input type="hidden" name="(\w+)" value="(\w+)">/g)].map(([, ...field]) =>
      field.join('='),
    );
  const list = await request(app.server).get('/workspaces?limit=10&page=3').expect(200);
  expect(kept(list.text)).toEqual(['limit=10', 'page=3']);
  const found = await request(app.server).get('/workspaces?limit=10&page=3&find=workspace').expect(200);
  expect(kept(found.text)).toEqual(['limit=10', 'page=3']);
  expect(found.text).toContain('href="/workspaces?limit=10&amp;page=3">Show all workspaces</a>');
  expect(found.text).toContain(
    'href="/workspaces?find=workspace&amp;from=2&amp;limit=10&amp;page=3">Search further',
  );
  expect(found.text).toContain('href="/workspaces/w1?back=find%3Dworkspace%26limit%3D10%26page%3D3"');
});

test('To find nothing in particular leads back to the page that was shown before', async () => {
  await using service = await startSmallService(workspaces(60));
  await using app = await start(service);
  const page = await request(app.server).get('/workspaces?limit=10&page=3&find=+').expect(200);
  expect(namesIn(page.text).at(0)).toBe('Workspace 21');
});

test('Of ten thousand matches at once those that are shown have their whole names', async () => {
  const name = `Workspace 1 ${'n'.repeat(80)}`;
  const value = Array.from({ length: 10_000 }, () => ({ name }));
  await using service = await startSmallService([], () => json(200, { value }));
  await using app = await start(service);
  const page = await request(app.server).get('/workspaces?find=workspace').expect(200);
  expect(page.text.split(`data-find>${name}<`)).toHaveLength(1_000 + 1);
});

test('What nothing matches is said, with how far was looked', async () => {
  await using service = await startSmallService(workspaces(30));
  await using app = await start(service);
  const page = await request(app.server).get('/workspaces?find=%3Cb%3Enone').expect(200);
  expect(page.text).toContain('Nothing matches “&lt;b&gt;none” in all 30 workspaces.');
  expect(page.text).not.toContain('data-items');
});

test('With enough matches a page of results ends, and leads on from there without walking again', async () => {
  await using service = await startSmallService(workspaces(450));
  await using app = await start(service);
  const first = await request(app.server).get('/workspaces?find=workspace').expect(200);
  expect(namesIn(first.text)).toHaveLength(100);
  expect(first.text).toContain('Searched the first 100 workspaces.');
  expect(first.text).toContain('href="/workspaces?find=workspace&amp;from=2">Search further</a>');
  const second = await request(app.server).get('/workspaces?find=workspace&from=2').expect(200);
  expect(namesIn(second.text).at(0)).toBe('Workspace 101');
  expect(second.text).toContain('100 matches for “workspace” in workspaces 101 to 200');
  expect(service.calls).toHaveLength(2);
});

test('A search that takes too long says how far it came, and goes on from there', async () => {
  let now = 0;
  await using service = await startSmallService(workspaces(1_000), () => {
    now += 4_000;
    return false;
  });
  await using app = await start(service, { now: () => now });
  const page = await request(app.server).get('/workspaces?find=999').expect(200);
  expect(page.text).toContain('Nothing matches “999” in the first 300 workspaces.');
  expect(page.text).toContain('href="/workspaces?find=999&amp;from=4">Search further</a>');
});

test('A search that the service finds too fast shows what it found so far', async () => {
  await using service = await startSmallService(
    workspaces(1_000),
    (_call, _socket, nth) => nth >= 3 && json(429, { code: 'TOO_MANY_REQUESTS' }),
  );
  await using app = await start(service);
  const page = await request(app.server).get('/workspaces?find=Workspace%20150').expect(200);
  expect(namesIn(page.text)).toEqual(['Workspace 150']);
  expect(page.text).toContain('from=3">Search further</a>');
});

test('A token that the service no longer takes begins the search anew, and nothing is found twice', async () => {
  await using service = await startSmallService(workspaces(450));
  await using app = await start(service);
  await request(app.server).get('/workspaces?find=workspace').expect(200);
  service.expireTokens();
  const page = await request(app.server).get('/workspaces?find=workspace&from=2').expect(200);
  expect(namesIn(page.text)).toHaveLength(100);
  expect(namesIn(page.text).at(0)).toBe('Workspace 101');
});

test('Looking on behind the end of a list finds nothing, and says nothing wrong', async () => {
  await using service = await startSmallService(workspaces(30));
  await using app = await start(service);
  const page = await request(app.server).get('/workspaces?find=workspace&from=9').expect(200);
  expect(namesIn(page.text)).toEqual([]);
  expect(page.text).toContain('No more workspaces match “workspace”.');
});

test('A failure of the service while looking is an error page, as for any list', async () => {
  await using service = await startSmallService(
    workspaces(250),
    (_call, _socket, nth) => nth >= 2 && json(500, {}),
  );
  await using app = await start(service);
  await request(app.server).get('/workspaces?find=x').expect(502);
});

test.each([
  ['design', true],
  ['DESIGN studio', true],
  ['studio design', true],
  ['cafe', true],
  ['CAFE\u0301', true],
  ['ﬁrst', true],
  ['ada lovelace', true],
  ['locked', true],
  ['12 mar 2024', true],
  ['designs', false],
  ['design absent', false],
  ['id', false],
])('The words “%s” match by what is shown: %s', (words, matches) => {
  const row = toItemRow({
    id: 'w1',
    name: 'Design Studio',
    description: 'The first Café',
    locked: true,
    createdBy: { firstName: 'Ada', lastName: 'Lovelace' },
    trialEnds: Date.UTC(2024, 2, 12),
  });
  expect(createMatcher(words)(row)).toBe(matches);
});
