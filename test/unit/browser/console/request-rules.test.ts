import { describe, expect, test } from '@jest/globals';
import { validateRequest, toUrl } from '../../../../src/browser/console/request-rules.ts';
import { ORIGIN, suggestedRequest } from './fixtures.ts';

const issues = (changed: Partial<typeof suggestedRequest>) =>
  validateRequest({ ...suggestedRequest, ...changed }, ORIGIN);
/** Returns the fields whose issues block the request, in form order. */
const blockedFields = (changed: Partial<typeof suggestedRequest>) =>
  issues(changed).flatMap((issue) => (issue.isBlocking ? [issue.field] : []));

test('an ordinary request has no issues', () => {
  expect(issues({ query: [['limit', '10']], headers: [['Accept', 'application/json']] })).toEqual([]);
});

describe('the path rule', () => {
  test.each([
    '',
    '/',
    'api/x',
    '/auth/session',
    '/apis',
    '//evil.example/api/',
    'https://evil.example/api/x',
    '\\\\evil.example',
    '/api/../auth/session',
    '/api/%2e%2e/auth/session',
    '/api/%2E%2e/%2e./auth',
    '/api/..\\auth\\session',
    '/api/x/../../auth/session',
    '/api/\t../auth/session',
    '/api/x#fragment',
    'javascript:alert(1)',
  ])('refuses a path outside /api/: %j', (path) => {
    expect(blockedFields({ path })).toEqual(['path']);
  });

  test('accepts dot segments that stay under /api/ and shows the resulting path', () => {
    expect(issues({ path: '/api/public/x/../workspaces' })).toEqual([
      { field: 'path', isBlocking: false, text: expect.stringContaining('/api/public/workspaces') },
    ]);
  });

  test('accepts paths under /api/ that only the gateway refuses', () => {
    expect(blockedFields({ path: '/api/public/v1/a%2f..%2fb//c;d' })).toEqual([]);
  });
});

describe('a header', () => {
  test.each(['Authorization', 'AUTHORIZATION', 'Cookie', 'cookie2'])(
    'named %s is refused with a reason',
    (name) => {
      const [issue] = issues({ headers: [[name, 'Bearer a-token']] });
      expect(issue).toMatchObject({ field: 'headers', row: 0, isBlocking: true });
      expect(issue?.text).toMatch(/gateway/);
      expect(issue?.text).not.toContain('a-token');
    },
  );

  test.each('Host origin Sec-Fetch-Site Proxy-Authorization Content-Length Via Set-Cookie'.split(' '))(
    'named %s is refused, because the browser sets it',
    (name) => {
      expect(issues({ headers: [[name, 'x']] })[0]).toMatchObject({
        isBlocking: true,
        text: expect.stringMatching(/browser sets/),
      });
    },
  );

  test.each([
    ['with a space in its name', 'X One', '1'],
    ['with a colon in its name', 'X:', '1'],
    ['without a name', '', '1'],
    ['with a line break in its value', 'X', 'a\nb'],
    ['with a value outside Latin-1', 'X', '☂'],
  ])('%s is refused, and the issue names its row', (_what, name, value) => {
    const headers: [string, string][] = [
      ['Accept', '*/*'],
      [name, value],
    ];
    expect(issues({ headers })).toEqual([
      { field: 'headers', row: 1, isBlocking: true, text: expect.any(String) },
    ]);
  });

  test('that the gateway drops causes only a notice', () => {
    expect(issues({ headers: [['X-Forwarded-For', '::1']] })[0]).toMatchObject({ isBlocking: false });
  });

  test('is ignored if its row is empty', () => {
    expect(issues({ headers: [['', '']], query: [['', '']] })).toEqual([]);
  });
});

test.each([
  ...['TRACE', 'connect', 'Track', '', 'A B', 'GÉT'].map((method) => [method, ['method']] as const),
  ...['PROPFIND', 'patch', 'M-SEARCH'].map((method) => [method, []] as const),
])('the method %j has issues in the fields %j', (method, fields) => {
  expect(blockedFields({ method })).toEqual(fields);
});

test.each(['GET', 'HEAD'])('a %s request must not have a body', (method) => {
  expect(blockedFields({ method, body: '{}' })).toEqual(['body']);
});

test('invalid JSON may be sent as JSON, but causes a notice', () => {
  expect(issues({ method: 'POST', body: '{' })[0]).toMatchObject({ field: 'body', isBlocking: false });
  expect(issues({ method: 'POST', body: '{', contentType: 'text/plain' })).toEqual([]);
  expect(issues({ method: 'POST', body: '{', headers: [['content-type', 'text/plain']] })).toEqual([]);
});

test('a query parameter needs a name', () => {
  const query = ['a=', '=b'].map((pair) => pair.split('=') as [string, string]);
  expect(issues({ query })[0]).toMatchObject({ field: 'query', row: 1, isBlocking: true });
});

test('reserved and non-ASCII characters in the query are percent-encoded', () => {
  const query = { next: 'a+b/c=&d #é', '': '', 'x[]': '' };
  expect(toUrl({ path: '/api/x', query: Object.entries(query) }, ORIGIN)?.href).toBe(
    `${ORIGIN}/api/x?next=a%2Bb%2Fc%3D%26d%20%23%C3%A9&x%5B%5D=`,
  );
});
