import { expect, test } from '@jest/globals';
import { toWorkspacesView } from '../../../src/workspaces/page-views.ts';
import type { ListedPage } from '../../../src/workspaces/paging.ts';

function viewOf(items: readonly unknown[], more: Partial<ListedPage> = {}) {
  const listed = {
    items,
    page: 1,
    limit: 25,
    before: 0,
    reached: 'requested' as const,
    ...more,
  };
  return toWorkspacesView(listed, more.page ?? 1, 25);
}

test('the title names every page but the first', () => {
  expect(viewOf([]).title).toBe('Workspaces');
  expect(viewOf([], { page: 3 }).title).toBe('Workspaces, page 3');
});

test('the link of a workspace encodes its id and remembers the page', () => {
  expect(viewOf([{ id: 'w1' }]).list.rows[0]?.href).toBe('/workspaces/w1');
  expect(viewOf([{ id: 'ä&"<b' }]).list.rows[0]?.href).toBe('/workspaces/%C3%A4%26%22%3Cb');
  expect(viewOf([{ id: 'w1' }], { page: 3, limit: 10 }).list.rows[0]?.href).toBe(
    '/workspaces/w1?back=limit%3D10%26page%3D3',
  );
});

test.each(['..', '.', 'a/b', 'a\\b', 'a%2fb', 'a;b', 'a?b', 'a#b', 'a b', 'a\n', '', 'x'.repeat(257)])(
  'a workspace whose id is unsafe in a path has no link: %j',
  (id) => {
    expect(viewOf([{ id, name: 'x' }]).list.rows[0]?.href).toBeUndefined();
  },
);
