import { expect, test } from '@jest/globals';
import type { ListedPage } from '../../src/workspaces/listing.ts';
import { toWorkspacesView } from '../../src/workspaces/view-model.ts';

function viewOf(items: readonly unknown[], more: Partial<ListedPage> = {}) {
  const listed = { items, page: 1, limit: 25, before: 0, hasNext: false, reached: 'asked' as const, ...more };
  return toWorkspacesView(listed, more.page ?? 1, 25);
}

function rowOf(item: unknown) {
  return viewOf([item]).rows[0];
}

test('A workspace shows its name, description, day of creation and flags', () => {
  const row = rowOf({
    id: 'w1',
    name: 'Design',
    description: 'All of it',
    createdOn: Date.UTC(2024, 2, 12, 9, 30),
    locked: true,
    suspended: true,
  });
  expect(row).toEqual({
    name: 'Design',
    description: 'All of it',
    isLong: false,
    created: { iso: '2024-03-12T09:30:00.000Z', day: '12 Mar 2024', moment: '12 March 2024 at 09:30 UTC' },
    flags: ['Locked', 'Suspended'],
  });
});

test.each([
  [{ title: 'A title', id: 'w1' }, 'A title'],
  [{ name: '', title: 'A title' }, 'A title'],
  [{ name: ' \u200b\u3000\n', id: 'w1' }, 'w1'],
  [{ name: 7, id: 42 }, '42'],
  [{}, '–'],
])('A workspace without a name is called by what else it has: %j', (item, name) => {
  expect(rowOf(item)?.name).toBe(name);
});

test.each([
  [null],
  ['text'],
  [42],
  [true],
  [[1, 2]],
  [{ name: {}, title: [], id: {}, description: 5, createdOn: '2024', locked: 'yes', suspended: 1 }],
])('An item of the wrong kind is a row with a dash: %j', (item) => {
  expect(rowOf(item)).toEqual({ name: '–', description: '', isLong: false, flags: [] });
});

test.each([0, -1, 1e300, Number.MAX_VALUE, Date.UTC(10_000, 0), '1700000000000', null])(
  'A time of creation that makes no sense is not shown: %j',
  (createdOn) => {
    expect(rowOf({ name: 'x', createdOn })).toEqual({ name: 'x', description: '', isLong: false, flags: [] });
  },
);

test('Endless texts are cut, never inside a character', () => {
  const row = rowOf({ name: '😀'.repeat(10_000), description: 'x'.repeat(10_000) });
  expect(row?.name).toBe(`${'😀'.repeat(250)}…`);
  expect(row?.description).toHaveLength(2_001);
  expect(rowOf({ name: `x${'😀'.repeat(10_000)}` })?.name).toBe(`x${'😀'.repeat(249)}…`);
});

test('A service that gives far more items than asked for gets a thousand rows and a notice', () => {
  const view = viewOf(Array.from({ length: 5_000 }, () => ({})));
  expect(view.rows).toHaveLength(1_000);
  expect(view.notice?.text).toBe('The service gave 5000 items at once: the first 1000 are shown.');
});

test('The title names the page, but for the first', () => {
  expect(viewOf([]).title).toBe('Workspaces');
  expect(viewOf([], { page: 3 }).title).toBe('Workspaces, page 3');
});
