import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { judgeTarget } from '../../src/gateway/target.ts';

const API_PATHS = ['/api/public/v1/'];
const judge = (target: string) => judgeTarget(target, API_PATHS);

describe('the target rule', () => {
  test.each([
    '/api/public/v1/workspaces',
    '/api/public/v1/workspaces/',
    '/api/public/v1/',
    '/api/public/v1/workspaces?limit=2&next=a%2Fb==',
    '/api/public/v1/workspaces?path=/../../x&y=//&z=%00',
    '/api/public/v1/murals/workspace1.1606;version=2/x',
    '/api/public/v1/rooms/a%2Fb',
    '/api/public/v1/rooms/caf%C3%A9',
    '/api/public/v1/rooms/a%20b',
    '/api/public/v1/rooms/...',
    '/api/public/v1/rooms/.hidden',
    '/api/public/v1/authorization',
    '/api/public/v1/authorization/oauth20',
    '/api/public/v1/authorization/other',
  ])('forwards %s', (target) => {
    expect(judge(target)).toBe('forward');
  });

  test.each([
    '',
    '*',
    'http://127.0.0.1/api/public/v1/workspaces',
    'example.com:443',
    'api/public/v1/workspaces',
    '/api/public/v1/workspaces#top',
    '/api/public/v1/workspaces?x#top',
    '/api/public/v1/../v2/x',
    '/api/public/v1/./x',
    '/api/public/v1/x/..',
    '/api/public/v1/x/.',
    '/api/public/v1/%2e%2e/x',
    '/api/public/v1/%2E./x',
    '/api/public/v1/%252e%252e/x',
    '/api/public/v1/%25252e%25252e/x',
    '/api/public/v1/..%2fx',
    '/api/public/v1/..%5cx',
    '/api/public/v1/..\\x',
    '/api/public/v1/..;/x',
    '/api/public/v1/..;a=b/x',
    '/api/public/v1/..%3b/x',
    '/api/public/v1//x',
    '/api/public/v1/x//',
    '/api/public/v1/%2fx',
    '/api/public/v1/\\x',
    '/api/public/v1/;a/x',
    '//api/public/v1/x',
    '/api/public/v1/%00',
    '/api/public/v1/%0d%0aX:y',
    '/api/public/v1/%7f',
    '/api/public/v1/%c2%85',
    '/api/public/v1/%',
    '/api/public/v1/%2',
    '/api/public/v1/%zz',
    '/api/public/v1/%ff',
    '/api/public/v1/%c0%ae%c0%ae/x',
    '/api/public/v1/%25zz',
    '/api/public/v1/x y',
    '/api/public/v1/x\u00e9',
    '/api/public/v1/x?a\u0000b',
    '/api/public/v1/x?a\tb',
    `/api/public/v1/%${'25'.repeat(2_000)}41`,
  ])('calls %j malformed', (target) => {
    expect(judge(target)).toBe('malformed');
  });

  test.each([
    '/api/public/v1',
    '/api/public/v2/x',
    '/api/PUBLIC/v1/x',
    '/api/public%2fv1/workspaces',
    '/api;x/public/v1/workspaces',
    '/api/publi%63/v1/workspaces',
    '/api/public/v1/authorization/oauth2',
    '/api/public/v1/authorization/oauth2/',
    '/api/public/v1/authorization/oauth2/token',
    '/api/public/v1/authorization/oauth2?x',
    '/api/public/v1/Authorization/OAuth2/token',
    '/api/public/v1/authorization%2foauth2/token',
    '/api/public/v1/authorization%252foauth2/token',
    '/api/public/v1/authorization\\oauth2',
    '/api/public/v1/authorization;a/oauth2;b/token',
    '/api/public/v1/%61uthorization/oauth2',
    '/api/public/v1/author%C4%B1zation/oauth2',
    '/workspaces',
  ])('does not allow %s', (target) => {
    expect(judge(target)).toBe('not-allowed');
  });

  test('whatever it lets through, a URL parser sees under an allowed prefix and at no authorization endpoint', () => {
    const piece = fc.constantFrom(
      ...[
        '/',
        '.',
        '..',
        '%2e',
        '%2f',
        '%5c',
        '\\',
        ';',
        '%3b',
        '%25',
        '2e',
        'a',
        'authorization',
        'oauth2',
        '?',
        '#',
      ],
      ...['%00', '\t', '%c0%ae', 'A', 'token', '//', '@', ':'],
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const target = `/api/public/v1/${pieces.join('')}`;
        if (judge(target) !== 'forward') return;
        const { pathname } = new URL(target, 'http://service.test');
        expect(pathname.startsWith('/api/public/v1/')).toBe(true);
        expect(target.startsWith('/api/public/v1/')).toBe(true);
        expect(decodeURIComponent(pathname).toLowerCase()).not.toMatch(
          /^\/api\/public\/v1\/authorization\/oauth2(\/|$)/,
        );
      }),
      { numRuns: 5_000 },
    );
  });
});
