import { expect, test } from '@jest/globals';
import { toItemView } from '../../../src/workspaces/item-view.ts';
import { createMatcher } from '../../../src/workspaces/search.ts';
import { json } from '../../support/raw-service.ts';
import { namesIn, useEmptyRedis } from './browser-app.ts';
import { workspaces } from './small-service.ts';

const start = useEmptyRedis();

test('a search reads the whole list in pages of the maximum size and shows how many items it covered', async () => {
  await using app = await start(workspaces(250));
  const page = await app.get('/workspaces?find=workspace%20%2099', 200);
  expect(namesIn(page.text)).toEqual(['Workspace 99', 'Workspace 199']);
  expect(page.text).toContain('2 of 250 workspaces match “workspace  99”');
  expect(page.text).toContain('href="/workspaces">Show all workspaces</a>');
  expect(app.service.requests.map(({ limit }) => limit)).toEqual(['100', '100', '100']);
});

test('a single match is counted in the singular, and its link leads back to the search', async () => {
  await using app = await start(workspaces(120));
  const page = await app.get('/workspaces?find=117', 200);
  expect(page.text).toContain('1 of 120 workspaces matches “117”');
  expect(page.text).toContain('href="/workspaces/w117?back=find%3D117"');
});

test('a search keeps the page and page size that it started from and links back to them', async () => {
  await using app = await start(workspaces(250));
  const kept = (page: string) =>
    [...page.matchAll(/<input type="hidden" name="(\w+)" value="(\w+)">/g)].map(([, ...field]) =>
      field.join('='),
    );
  const list = await app.get('/workspaces?limit=10&page=3', 200);
  expect(kept(list.text)).toEqual(['limit=10', 'page=3']);
  const found = await app.get('/workspaces?limit=10&page=3&find=workspace', 200);
  expect(kept(found.text)).toEqual(['limit=10', 'page=3']);
  expect(found.text).toContain('href="/workspaces?limit=10&amp;page=3">Show all workspaces</a>');
  expect(found.text).toContain(
    'href="/workspaces?find=workspace&amp;from=2&amp;limit=10&amp;page=3">Continue searching',
  );
  expect(found.text).toContain('href="/workspaces/w1?back=find%3Dworkspace%26limit%3D10%26page%3D3"');
});

test('an empty search shows the page that it started from', async () => {
  await using app = await start(workspaces(60));
  const page = await app.get('/workspaces?limit=10&page=3&find=+', 200);
  expect(namesIn(page.text).at(0)).toBe('Workspace 21');
});

test('the page shows the first thousand of ten thousand matches, with their full names', async () => {
  const name = `Workspace 1 ${'n'.repeat(80)}`;
  const value = Array.from({ length: 10_000 }, () => ({ name }));
  await using app = await start([], () => json(200, { value }));
  const page = await app.get('/workspaces?find=workspace', 200);
  expect(page.text.split(`data-find>${name}<`)).toHaveLength(1_000 + 1);
  expect(page.text).toContain('10,000 of 10,000 workspaces match “workspace”');
  expect(page.text).toContain('The first 1,000 matches are shown.');
});

test('a search without a match shows which part of the list it covered', async () => {
  await using app = await start(workspaces(30));
  const page = await app.get('/workspaces?find=%3Cb%3Enone', 200);
  expect(page.text).toContain('No matches for “&lt;b&gt;none” in 30 workspaces. Try other words.');
  expect(page.text).not.toContain('data-items');
});

test('a search stops after a hundred matches, and continuing it takes one request', async () => {
  await using app = await start(workspaces(450));
  const first = await app.get('/workspaces?find=workspace', 200);
  expect(namesIn(first.text)).toHaveLength(100);
  expect(first.text).toContain('Searched the first 100 workspaces.');
  expect(first.text).toContain('href="/workspaces?find=workspace&amp;from=2">Continue searching</a>');
  const second = await app.get('/workspaces?find=workspace&from=2', 200);
  expect(namesIn(second.text).at(0)).toBe('Workspace 101');
  expect(second.text).toContain('100 of workspaces 101–200 match “workspace”');
  expect(app.service.requests).toHaveLength(2);
});

test('after ten seconds, a search shows which part of the list it covered and a link to continue', async () => {
  let now = 0;
  await using app = await start(
    workspaces(1_000),
    () => {
      now += 4_000;
      return false;
    },
    { now: () => now },
  );
  const page = await app.get('/workspaces?find=999', 200);
  expect(page.text).toContain('No matches for “999” in the first 300 workspaces.');
  expect(page.text).toContain('href="/workspaces?find=999&amp;from=4">Continue searching</a>');
  const further = await app.get('/workspaces?find=999&from=4', 200);
  expect(further.text).toContain('No matches for “999” in workspaces 301–600.');
});

test('after an expired cursor, a search restarts and shows each match once', async () => {
  await using app = await start(workspaces(450));
  await app.get('/workspaces?find=workspace', 200);
  app.service.expireCursors();
  const page = await app.get('/workspaces?find=workspace&from=2', 200);
  expect(namesIn(page.text)).toHaveLength(100);
  expect(namesIn(page.text).at(0)).toBe('Workspace 101');
});

test('a search past the end of a list shows that no more workspaces match', async () => {
  await using app = await start(workspaces(30));
  const page = await app.get('/workspaces?find=workspace&from=9', 200);
  expect(namesIn(page.text)).toEqual([]);
  expect(page.text).toContain('No more workspaces match “workspace”.');
});

test.each([
  ['DESIGN studio', true],
  ['cafe', true],
  ['ada lovelace', true],
  ['locked', true],
  ['12 mar 2024', true],
  ['design absent', false],
  ['id', false],
])('a search for “%s” matches the text shown in a row: %s', (words, matches) => {
  const row = toItemView({
    id: 'w1',
    name: 'Design Studio',
    description: 'The first Café',
    locked: true,
    createdBy: { firstName: 'Ada', lastName: 'Lovelace' },
    trialEnds: Date.UTC(2024, 2, 12),
  });
  expect(createMatcher(words)(row)).toBe(matches);
});
