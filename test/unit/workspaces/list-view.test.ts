import { expect, test } from '@jest/globals';
import { toListView } from '../../../src/workspaces/list-view.ts';
import { toWorkspacesView } from '../../../src/workspaces/page-views.ts';
import type { ListedPage } from '../../../src/workspaces/paging.ts';
import { workspaces } from '../../app/workspaces/small-service.ts';

const ONLY_PAGE = { items: [1], page: 1, limit: 30, before: 0, reached: 'requested' as const };
const NEXT = { page: 3, cursor: 'x', before: 60 };
const LISTED = { ...ONLY_PAGE, page: 2, before: 30, next: NEXT };

function viewOf(listed: ListedPage, defaultLimit = 25, kind = 'workspaces') {
  const list = { kind, path: '/workspaces', empty: '', hrefOf: () => undefined, defaultLimit };
  return toListView(list, listed, listed.page);
}

const sizesOf = (listed: ListedPage, defaultLimit?: number) =>
  viewOf(listed, defaultLimit).pagination?.sizes ?? [];

test('a page offers the usual page sizes, the default size and its current size, in ascending order', () => {
  const sizes = sizesOf(LISTED, 20);
  expect(sizes.map(({ label }) => label)).toEqual(['10', '20', '25', '30', '50', '100']);
  expect(sizes.filter(({ current }) => current).map(({ label }) => label)).toEqual(['30']);
});

test.each([
  ['no items', false, { items: [] }],
  ['all items on a short page', false, { items: workspaces(10) }],
  ['all items on a longer page', true, { items: workspaces(11) }],
  ['the first items of a longer list', true, { items: [1], next: NEXT }],
  ['the last items of a longer list', true, { items: [1], page: 2 }],
])('a page with %s offers page sizes: %s', (_what, offered, more) => {
  expect(sizesOf({ ...ONLY_PAGE, ...more }).length > 0).toBe(offered);
});

test('a page shows the range of its items', () => {
  expect(viewOf({ ...LISTED, items: workspaces(30) }).place).toBe('Workspaces 31–60 · Page 2');
  expect(viewOf({ ...ONLY_PAGE, items: [1] }).place).toBe('Workspace 1');
  expect(viewOf({ ...LISTED, items: [] }).place).toBe('Page 2');
});

test.each([
  ['rooms', 'Find a room', 'Room 1'],
  ['entries', 'Find an entry', 'Entry 1'],
  ['media', 'Find a media', 'Media 1'],
])('labels on a list of %s use the singular for a single item', (kind, label, place) => {
  const { find, ...view } = viewOf({ ...ONLY_PAGE, items: [1] }, 25, kind);
  expect([find.label, view.place]).toEqual([label, place]);
});

test('a page with more than a thousand items shows the first thousand and a notice', () => {
  const { rows, notice } = viewOf({ ...ONLY_PAGE, items: Array.from({ length: 5_000 }, () => ({})) });
  expect(rows).toHaveLength(1_000);
  expect(notice?.text).toBe('The service sent 5,000 workspaces in one response. The first 1,000 are shown.');
});

/** Returns the view for a page of workspaces. */
function workspacesPage(items: readonly unknown[], more: Partial<ListedPage> = {}) {
  return toWorkspacesView({ ...ONLY_PAGE, limit: 25, items, ...more }, more.page ?? 1, 25);
}

test('the title contains the page number on every page except the first', () => {
  expect(workspacesPage([]).title).toBe('Workspaces');
  expect(workspacesPage([], { page: 3 }).title).toBe('Workspaces, page 3');
});

test('the link to a workspace contains the encoded workspace id and the current page number', () => {
  expect(workspacesPage([{ id: 'w1' }]).list.rows[0]?.href).toBe('/workspaces/w1');
  expect(workspacesPage([{ id: 'ä&"<b' }]).list.rows[0]?.href).toBe('/workspaces/%C3%A4%26%22%3Cb');
  expect(workspacesPage([{ id: 'w1' }], { page: 3, limit: 10 }).list.rows[0]?.href).toBe(
    '/workspaces/w1?back=limit%3D10%26page%3D3',
  );
});

test.each(['..', '.', 'a/b', 'a\\b', 'a%2fb', 'a;b', 'a?b', 'a#b', 'a b', 'a\n', '', 'x'.repeat(257)])(
  'a workspace with an id that is unsafe in a path has no link: %j',
  (id) => {
    expect(workspacesPage([{ id, name: 'x' }]).list.rows[0]?.href).toBeUndefined();
  },
);
