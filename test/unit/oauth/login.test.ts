import { describe, expect, test } from '@jest/globals';
import { loginUrl } from '../../../src/http/error-pages.ts';
import { toReturnPath } from '../../../src/oauth/login.ts';
import { fc, scaled } from '../../support/properties.ts';

const ORIGIN = 'https://app.example';

describe('return_to', () => {
  test.each([
    ['/workspaces?page=2', '/workspaces?page=2'],
    ['/workspaces/a%2Fb%20c%3Fd#row', '/workspaces/a%2Fb%20c%3Fd#row'],
    ['/a/../b', '/b'],
    ['/caf\u00e9', '/caf%C3%A9'],
    ['/x?return_to=//evil.example', '/x?return_to=//evil.example'],
  ])('with the value %j leads to %s', (given, path) => {
    expect(toReturnPath(given, ORIGIN)).toBe(path);
  });

  test.each([
    undefined,
    ['/a', '/b'],
    '',
    'workspaces',
    'https://app.example/workspaces',
    '/\\evil.example',
    '/\n/evil.example',
    '\t//evil.example',
    '/a/..//evil.example',
    '/%2e//evil.example',
    'javascript:alert(1)',
    '/auth/login',
    '/auth/logout',
    '/AUTH/callback?code=x',
    '/a/../auth/login',
    `/${'a'.repeat(9_000)}`,
    `/${'+'.repeat(10)}?${'\u00e9'.repeat(3_000)}`, // short as sent, but too long once encoded
  ])('with the value %j leads to the workspaces', (given) => {
    expect(toReturnPath(given, ORIGIN)).toBe('/workspaces');
  });

  test('never leads to another site', () => {
    const pieces = ['/', '\\', '.', '..', '%2f', '%5c', '\t', '\n', '@', ':', 'evil.example', 'a', '?', '#'];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 10 }), (some) => {
        const path = toReturnPath(`/${some.join('')}`, ORIGIN);
        expect(new URL(path, ORIGIN).origin).toBe(ORIGIN);
        expect(path).toMatch(/^\/(?![/\\])/);
      }),
      { numRuns: scaled(5_000) },
    );
  });

  test('is fully encoded in the login URL', () => {
    const url = new URL(loginUrl('/workspaces?a=1&b=2#c'), ORIGIN);
    expect(url.searchParams.get('return_to')).toBe('/workspaces?a=1&b=2#c');
  });
});
