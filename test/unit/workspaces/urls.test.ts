import { expect, test } from '@jest/globals';
import { toFindAddress, toPlaceQuery, toWayBack } from '../../../src/workspaces/urls.ts';

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
])('The way back that an address remembers is made anew from its parts: %j', (back, href, label) => {
  expect(toWayBack({ back }, 25)).toEqual({ href, label });
});

test('The usual first page need not be remembered', () => {
  expect(toPlaceQuery({ limit: 25, page: 1 }, 25)).toBe('');
  expect(toPlaceQuery({ limit: 50, page: 1 }, 25)).toBe('limit=50&page=1');
  const cameFrom = { limit: 25, page: 1 };
  expect(toPlaceQuery({ words: 'a b', from: 1, cameFrom }, 25)).toBe('find=a%20b');
  expect(toPlaceQuery({ words: 'a b', from: 4, cameFrom }, 25)).toBe('find=a%20b&from=4');
});

test('What is to be found is one text of at most two hundred characters, never half of one', () => {
  expect(toFindAddress({ find: '  two words ' }, 25)).toMatchObject({ words: 'two words', from: 1 });
  expect(toFindAddress({ find: ['a', 'b'] }, 25)).toBeNull();
  expect(toFindAddress({ find: ' ' }, 25)).toBeNull();
  expect(toFindAddress({ find: 'a', from: '-3' }, 25)).toMatchObject({ words: 'a', from: 1 });
  expect(toFindAddress({}, 25)).toBeNull();
  expect(toFindAddress({ find: `x${'😀'.repeat(200)}` }, 25)?.words).toBe(`x${'😀'.repeat(99)}`);
});

test('What is to be found keeps the page that was shown before', () => {
  expect(toFindAddress({ find: 'a' }, 25)?.cameFrom).toEqual({ limit: 25, page: 1 });
  expect(toFindAddress({ find: 'a', limit: '10', page: '3' }, 25)?.cameFrom).toEqual({ limit: 10, page: 3 });
});
