import { expect, test } from '@jest/globals';
import type { ListedPage } from '../../../src/workspaces/page-by-number.ts';
import { toFoundWorkspacesView, toWorkspacesView } from '../../../src/workspaces/workspaces-view.ts';

function viewOf(items: readonly unknown[], more: Partial<ListedPage> = {}) {
  const listed = { items, page: 1, limit: 25, before: 0, hasNext: false, reached: 'asked' as const, ...more };
  return toWorkspacesView(listed, more.page ?? 1, 25);
}

test('A service that gives far more items than asked for gets a thousand rows and a notice', () => {
  const { list } = viewOf(Array.from({ length: 5_000 }, () => ({})));
  expect(list.rows).toHaveLength(1_000);
  expect(list.notice?.text).toBe('The service gave 5,000 items at once: the first 1,000 are shown.');
});

test('The title names the page, but for the first', () => {
  expect(viewOf([]).title).toBe('Workspaces');
  expect(viewOf([], { page: 3 }).title).toBe('Workspaces, page 3');
});

test('A workspace leads to what is inside it, and remembers the page that it was on', () => {
  expect(viewOf([{ id: 'w1' }]).list.rows[0]?.href).toBe('/workspaces/w1');
  expect(viewOf([{ id: 'w1' }], { page: 3, limit: 10 }).list.rows[0]?.href).toBe(
    '/workspaces/w1?back=limit%3D10%26page%3D3',
  );
});

test('An id is encoded in an address', () => {
  expect(viewOf([{ id: 'ä&"<b' }]).list.rows[0]?.href).toBe('/workspaces/%C3%A4%26%22%3Cb');
});

test.each(['..', '.', 'a/b', 'a\\b', 'a%2fb', 'a;b', 'a?b', 'a#b', 'a b', 'a\n', '', 'x'.repeat(257)])(
  'A workspace whose id can be no segment of a path leads nowhere: %j',
  (id) => {
    expect(viewOf([{ id, name: 'x' }]).list.rows[0]).not.toHaveProperty('href');
  },
);

const item = { name: 'x' };

test('What was found says how far was looked', () => {
  const find = { words: 'x', from: 1, cameFrom: { limit: 25, page: 1 } };
  const found = (more: object) =>
    toFoundWorkspacesView({ items: [item], before: 0, upTo: 137, ...more }, find, 25).list;
  expect(found({}).place).toBe('1 matches “x” in all 137');
  expect(found({})).not.toHaveProperty('notice');
  expect(found({ items: [item, item], upTo: 20_000, nextFrom: 201 })).toMatchObject({
    place: '2 match “x” in the first 20,000',
    notice: { action: { href: '/workspaces?find=x&from=201', label: 'Look further' } },
  });
  expect(found({ items: [], before: 20_000, upTo: 20_137 }).place).toBe(
    '0 match “x” in numbers 20,001 to 20,137',
  );
  const many = found({ items: Array.from({ length: 1_001 }, () => item), upTo: 5_000 });
  expect(many.rows).toHaveLength(1_000);
  expect(many).toMatchObject({
    place: '1,001 match “x” in all 5,000',
    notice: { text: 'The first 1,000 of them are shown.' },
  });
});
