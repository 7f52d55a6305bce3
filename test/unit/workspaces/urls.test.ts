import { expect, test } from '@jest/globals';
import { parseBackLink, parsePage, parseSearch, toBackQuery } from '../../../src/workspaces/urls.ts';

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
])('the query %j requests %d items and page %d', (query, limit, page) => {
  expect(parsePage(query, 25)).toEqual({ limit, page });
});

test.each([
  ['', '/workspaces', 'Workspaces'],
  [undefined, '/workspaces', 'Workspaces'],
  [['limit=10', 'page=2'], '/workspaces', 'Workspaces'],
  ['limit=10&page=3', '/workspaces?limit=10&page=3', 'Workspaces, page 3'],
  ['limit=25&page=1', '/workspaces', 'Workspaces'],
  ['find=a%26b&from=3', '/workspaces?find=a%26b&from=3', 'Workspaces that match “a&b”'],
  ['find=a&limit=10&page=2', '/workspaces?find=a&limit=10&page=2', 'Workspaces that match “a”'],
  ['find=a&limit=25&page=1', '/workspaces?find=a', 'Workspaces that match “a”'],
  ['https://other.example/?page=2', '/workspaces', 'Workspaces'],
  ['limit=10&page=2&next=//other.example', '/workspaces?limit=10&page=2', 'Workspaces, page 2'],
  ['limit=1000&page=-1&__proto__=x', '/workspaces?limit=100&page=1', 'Workspaces'],
])('a link back is built from the parsed parameters in %j', (back, href, label) => {
  expect(parseBackLink({ back }, 25)).toEqual({ href, label });
});

test('the back query for the first page with the default size is empty', () => {
  expect(toBackQuery({ limit: 25, page: 1 }, 25)).toBe('');
  expect(toBackQuery({ limit: 50, page: 1 }, 25)).toBe('limit=50&page=1');
  const origin = { limit: 25, page: 1 };
  expect(toBackQuery({ words: 'a b', from: 1, origin }, 25)).toBe('find=a%20b');
  expect(toBackQuery({ words: 'a b', from: 4, origin }, 25)).toBe('find=a%20b&from=4');
});

test('a search term is limited to two hundred code units and never cut within a character', () => {
  expect(parseSearch({ find: '  two words ' }, 25)).toMatchObject({ words: 'two words', from: 1 });
  expect(parseSearch({ find: ['a', 'b'] }, 25)).toBeNull();
  expect(parseSearch({ find: ' ' }, 25)).toBeNull();
  expect(parseSearch({ find: 'a', from: '-3' }, 25)).toMatchObject({ words: 'a', from: 1 });
  expect(parseSearch({}, 25)).toBeNull();
  expect(parseSearch({ find: `x${'😀'.repeat(200)}` }, 25)?.words).toBe(`x${'😀'.repeat(99)}`);
});
