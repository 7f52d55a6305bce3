import { describe, expect, test } from '@jest/globals';
import { faultsOf, toUrl } from '../../../public/console/request-rules.js';
import { ORIGIN, suggestedRequest } from './fixtures.ts';

const faults = (changed: Partial<typeof suggestedRequest>) =>
  faultsOf({ ...suggestedRequest, ...changed }, ORIGIN);
/** Returns the fields whose faults block the request, in form order. */
const stops = (changed: Partial<typeof suggestedRequest>) =>
  faults(changed).flatMap((fault) => (fault.stops ? [fault.field] : []));

test('an ordinary request has no faults', () => {
  expect(faults({ query: [['limit', '10']], headers: [['Accept', 'application/json']] })).toEqual([]);
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
    expect(stops({ path })).toEqual(['path']);
  });

  test('accepts dot segments that stay under /api/ and shows the resulting path', () => {
    expect(faults({ path: '/api/public/x/../workspaces' })).toEqual([
      { field: 'path', stops: false, text: expect.stringContaining('/api/public/workspaces') },
    ]);
  });

  test('accepts paths under /api/ that only the gateway refuses', () => {
    expect(stops({ path: '/api/public/v1/a%2f..%2fb//c;d' })).toEqual([]);
  });
});

describe('a header', () => {
  test.each(['Authorization', 'AUTHORIZATION', 'Cookie', 'cookie2'])(
    '%s is refused with a reason',
    (name) => {
      const [fault] = faults({ headers: [[name, 'Bearer a-token']] });
      expect(fault).toMatchObject({ field: 'headers', row: 0, stops: true });
      expect(fault?.text).toMatch(/gateway/);
      expect(fault?.text).not.toContain('a-token');
    },
  );

  test.each('Host origin Sec-Fetch-Site Proxy-Authorization Content-Length Via Set-Cookie'.split(' '))(
    '%s is refused, because the browser sets it',
    (name) => {
      expect(faults({ headers: [[name, 'x']] })[0]).toMatchObject({
        stops: true,
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
  ])('%s is refused, and the fault names its row', (_what, name, value) => {
    const headers: [string, string][] = [
      ['Accept', '*/*'],
      [name, value],
    ];
    expect(faults({ headers })).toEqual([
      { field: 'headers', row: 1, stops: true, text: expect.any(String) },
    ]);
  });

  test('that the gateway drops causes only a notice', () => {
    expect(faults({ headers: [['X-Forwarded-For', '::1']] })[0]).toMatchObject({ stops: false });
  });

  test('row is ignored if it is empty', () => {
    expect(faults({ headers: [['', '']], query: [['', '']] })).toEqual([]);
  });
});

test.each([
  ...['TRACE', 'connect', 'Track', '', 'A B', 'GÉT'].map((method) => [method, ['method']] as const),
  ...['PROPFIND', 'patch', 'M-SEARCH'].map((method) => [method, []] as const),
])('the method %j has faults in the fields %j', (method, fields) => {
  expect(stops({ method })).toEqual(fields);
});

test.each(['GET', 'HEAD'])('a %s request may not have a body', (method) => {
  expect(stops({ method, body: '{}' })).toEqual(['body']);
});

test('invalid JSON may be sent as JSON, but causes a notice', () => {
  expect(faults({ method: 'POST', body: '{' })[0]).toMatchObject({ field: 'body', stops: false });
  expect(faults({ method: 'POST', body: '{', contentType: 'text/plain' })).toEqual([]);
  expect(faults({ method: 'POST', body: '{', headers: [['content-type', 'text/plain']] })).toEqual([]);
});

test('a query parameter needs a name', () => {
  const query = ['a=', '=b'].map((pair) => pair.split('=') as [string, string]);
  expect(faults({ query })[0]).toMatchObject({ field: 'query', row: 1, stops: true });
});

test('reserved and non-ASCII characters in the query are percent-encoded', () => {
  const query = { next: 'a+b/c=&d #é', '': '', 'x[]': '' };
  expect(toUrl({ path: '/api/x', query: Object.entries(query) }, ORIGIN)?.href).toBe(
    `${ORIGIN}/api/x?next=a%2Bb%2Fc%3D%26d%20%23%C3%A9&x%5B%5D=`,
  );
});
