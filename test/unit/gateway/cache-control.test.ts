import { runInNewContext } from 'node:vm';
import { describe, expect, test } from '@jest/globals';
import { toPrivateCacheControl, toVary } from '../../../src/gateway/cache-control.ts';

describe('Cache-Control of a response to one user', () => {
  test.each([
    [['max-age=60'], 'private, max-age=60'],
    [['public, max-age=31536000, immutable'], 'private, max-age=31536000, immutable'],
    [['Public,S-MaxAge=60 , Max-Age=5'], 'private, Max-Age=5'],
    [['s-maxage=60, proxy-revalidate'], 'private'],
    [['public=1, s-maxage="60"'], 'private'],
    [['private, max-age=60'], 'private, max-age=60'],
    [['max-age=60, PRIVATE'], 'max-age=60, PRIVATE'],
    [['private="x-field, y", max-age=60'], 'private, max-age=60'],
    [['no-cache="set-cookie, public", max-age=60'], 'private, no-cache="set-cookie, public", max-age=60'],
    [['x="a\\", public, \\"b", max-age=1'], 'private, x="a\\", public, \\"b", max-age=1'],
    [['no-store'], 'no-store'],
    [['no-store="x"'], 'private, no-store="x"'],
    [['must-understand, no-store, max-age=9'], 'no-store, max-age=9'],
    [['must-revalidate, max-age=9'], 'private, must-revalidate, max-age=9'],
    [['public', 'max-age=60'], 'private, max-age=60'],
    [['max-age=60', 'private'], 'max-age=60, private'],
    [[' , ,max-age=5,\t'], 'private, max-age=5'],
  ])('%j becomes %s', (said, expected) => {
    expect(toPrivateCacheControl(said, false)).toBe(expected);
    expect(toPrivateCacheControl(said, true)).toBe(expected);
  });

  test.each([
    ['an open quote', ['max-age=60, x="a, private']],
    ['an open quote over two fields', ['x="a', 'private, y="b']],
    ['a space in a directive', ['max age=60, private']],
    ['a semicolon', ['private; max-age=60']],
    ['an argument without a name', ['=60, private']],
    ['a blank before the argument', ['max-age =60, private']],
    ['a control character', ['private\u0001, max-age=60']],
  ])('with %s is replaced', (_what, said) => {
    expect(toPrivateCacheControl(said, true)).toBe('private, no-store');
  });

  test.each([
    ['blanks', `a${' '.repeat(400_000)};`],
    ['blanks before a name', `${' '.repeat(400_000)};`],
    ['letters', `${'a'.repeat(400_000)};`],
    ['an argument', `a=${'a'.repeat(400_000)};`],
    ['an open quote', `a="${'\\a'.repeat(200_000)}`],
    ['directives', `${'a,'.repeat(200_000)};`],
  ])('is read in a time that grows with its length: %s', (_what, said) => {
    const read = () => toPrivateCacheControl([said], true);
    // Backtracking takes minutes here. A vm ends a call that blocks its thread; a time limit of jest's can't.
    expect(runInNewContext('read()', { read }, { timeout: 10_000 })).toBe('private, no-store');
  });

  test.each([[[]], [['']], [['', ' , ']]])('%j lets a browser go by Expires alone', (said) => {
    expect(toPrivateCacheControl(said, false)).toBe('private, no-cache');
    expect(toPrivateCacheControl(said, true)).toBe('private');
  });
});

test.each([
  [[], 'Cookie'],
  [['Accept-Encoding'], 'Accept-Encoding, Cookie'],
  [['accept, COOKIE', 'origin'], 'accept, origin, Cookie'],
  [[' , '], 'Cookie'],
  [['accept, *'], '*'],
])('Vary %j becomes %s', (said, expected) => {
  expect(toVary(said)).toBe(expected);
});
