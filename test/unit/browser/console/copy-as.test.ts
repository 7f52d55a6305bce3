import { execFileSync } from 'node:child_process';
import { expect, test } from '@jest/globals';
import { toCurlCommand, toFetchCode } from '../../../../src/browser/console/copy-as.ts';
import { fc, scaled } from '../../../support/properties.ts';
import { ORIGIN, suggestedRequest } from './fixtures.ts';

type Request = typeof suggestedRequest;

/** Returns the arguments that a shell passes to curl. */
function argumentsOf(request: Partial<Request>): string[] {
  const command = toCurlCommand({ ...suggestedRequest, ...request }, ORIGIN, 'cloakroom');
  const script = `curl() { printf '%s\\0' "$@"; }\nCOOKIE=a-value\n${command}`;
  return execFileSync('sh', ['-c', script], { encoding: 'utf8' }).split('\0').slice(0, -1);
}

/** Returns the arguments that the copied code passes to fetch. */
function fetchOf(request: Partial<Request>): unknown[] {
  const code = toFetchCode({ ...suggestedRequest, ...request }, ORIGIN);
  // oxlint-disable-next-line no-new-func, typescript/no-implied-eval -- the test runs the copied code
  const run = new Function('fetch', `return (async () => { ${code}\nreturn response; })()`) as (
    fetch: (...args: unknown[]) => unknown,
  ) => unknown;
  let called: unknown[] = [];
  run((...args) => (called = args));
  return called;
}

test('a GET request results in short curl and fetch code', () => {
  const query: [string, string][] = [['limit', '10']];
  expect(toFetchCode({ ...suggestedRequest, query }, ORIGIN)).toBe(
    "const response = await fetch('/api/public/v1/workspaces?limit=10');",
  );
  expect(argumentsOf({ query })).toEqual([
    ...['--globoff', '--path-as-is', '--cookie', 'cloakroom=a-value'],
    `${ORIGIN}/api/public/v1/workspaces?limit=10`,
  ]);
});

/** Checks that the curl and fetch code preserve the body. */
function expectBodyKept(body: string): void {
  const args = argumentsOf({ method: 'POST', body });
  expect(args[args.indexOf('--data-raw') + 1]).toBe(body);
  expect(fetchOf({ method: 'POST', body })).toEqual([
    suggestedRequest.path,
    { method: 'POST', headers: { 'Content-Type': 'application/json' }, body },
  ]);
}

test.each([
  `it's "quoted"`,
  '$(touch /tmp/x)',
  '`id`',
  '!!',
  '\\',
  "'\\''",
  'a\nb',
  '@file',
  '-o x',
  '\u2028',
])('the curl and fetch code preserve the body %j', expectBodyKept);

test('the curl and fetch code preserve any text body', () => {
  const text = fc
    .string({ unit: 'grapheme' })
    .filter((value) => value !== '' && !/[\0\ud800-\udfff]/u.test(value));
  fc.assert(fc.property(text, expectBodyKept), { numRuns: scaled(60) });
});

test.each([
  ...['POST', 'DELETE', 'PROPFIND', 'post'].map((method) => [method, true] as const),
  ...['GET', 'HEAD', 'OPTIONS'].map((method) => [method, false] as const),
])('curl sends X-Requested-With for %s: %s', (method, isSent) => {
  expect(argumentsOf({ method }).includes('X-Requested-With: curl')).toBe(isSent);
});

test('curl does not wait for a body in the response to HEAD', () => {
  expect(argumentsOf({ method: 'HEAD' })).toContain('--head');
});

test('a Content-Type header overrides the content type selected in the form', () => {
  const args = argumentsOf({ method: 'POST', body: 'x', headers: [['content-type', 'text/csv']] });
  expect(args.filter((argument) => /^content-type/i.test(argument))).toEqual(['content-type: text/csv']);
});

test('empty and repeated headers are kept', () => {
  const headers: [string, string][] = [
    ['X-Empty', ''],
    ['X-Two', '1'],
    ['x-two', '2'],
  ];
  expect(argumentsOf({ headers })).toEqual(expect.arrayContaining(['X-Empty;', 'X-Two: 1', 'x-two: 2']));
  expect(fetchOf({ headers })[1]).toEqual({ headers });
});

test('neither the curl nor the fetch code contains credentials', () => {
  const headers: [string, string][] = [
    ['Authorization', 'Bearer a-token'],
    ['COOKIE', 'cloakroom=a-session'],
  ];
  const request = { ...suggestedRequest, headers };
  const copies = toFetchCode(request, ORIGIN) + toCurlCommand(request, ORIGIN, 'cloakroom');
  expect(copies).not.toMatch(/a-token|a-session|authorization/i);
});
