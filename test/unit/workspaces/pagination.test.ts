import { expect, test } from '@jest/globals';
import { toPageAddress, toPagination } from '../../../src/workspaces/pagination.ts';
import type { PageAddress } from '../../../src/workspaces/pagination.ts';
import { workspaces } from '../../app/workspaces/small-service.ts';

test.each([
  [{}, 25, 1],
  [{ limit: '10', page: '3' }, 10, 3],
  [{ limit: '0', page: '0' }, 1, 1],
  [{ limit: '-5', page: '-1' }, 1, 1],
  [{ limit: '101', page: '007' }, 100, 7],
  [{ limit: 'ten', page: 'two' }, 25, 1],
  [{ limit: '2.5', page: '1e3' }, 25, 1],
  [{ limit: '', page: ' 2' }, 25, 1],
  [{ limit: ['10', '20'], page: { x: '1' } }, 25, 1],
  [{ limit: '9'.repeat(400), page: '9'.repeat(400) }, 100, 1_000_000],
])('The query %j asks for %d items and page %d', (query, limit, page) => {
  expect(toPageAddress(query, 25)).toEqual({ limit, page });
});

function pageOf(path: string) {
  return ({ limit, page }: PageAddress) => `${path}?limit=${limit}&page=${page}`;
}

const listed = { items: [1], page: 2, limit: 30, before: 30, hasNext: true, reached: 'asked' as const };

test('The page sizes offered include the one in use and the usual one, in order', () => {
  const { sizes } = toPagination(listed, pageOf('/workspaces'), 20);
  expect(sizes.map(({ label }) => label)).toEqual(['10', '20', '25', '30', '50', '100']);
  expect(sizes.filter(({ current }) => current).map(({ label }) => label)).toEqual(['30']);
});

test('Another page size begins at the first page', () => {
  const { sizes } = toPagination(listed, pageOf('/workspaces'), 25);
  expect(sizes[0]?.href).toBe('/workspaces?limit=10&page=1');
});

test('A list that has another address is paged in the same way', () => {
  const { first, previous, next } = toPagination(listed, pageOf('/workspaces/w1/rooms'), 25);
  expect([first, previous, next]).toEqual([
    '/workspaces/w1/rooms?limit=30&page=1',
    '/workspaces/w1/rooms?limit=30&page=1',
    '/workspaces/w1/rooms?limit=30&page=3',
  ]);
});

test.each([
  ['no items', { items: [] }, false],
  ['all items on a short page', { items: workspaces(10) }, false],
  ['all items on a longer page', { items: workspaces(11) }, true],
  ['some items of more', { items: [1], hasNext: true }, true],
  ['the last items of more', { items: [1], page: 2 }, true],
])('With %s page sizes are offered where they make a difference', (_what, more, offered) => {
  const only = { ...listed, page: 1, before: 0, hasNext: false, ...more };
  expect(toPagination(only, pageOf('/workspaces'), 25).sizes.length > 0).toBe(offered);
});

test('A page without items names no range', () => {
  expect(toPagination({ ...listed, items: [] }, pageOf('/workspaces'), 25)).not.toHaveProperty('range');
});
