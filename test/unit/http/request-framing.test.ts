import type { IncomingMessage } from 'node:http';
import { expect, test } from '@jest/globals';
import { checkFraming } from '../../../src/http/request-framing.ts';

/** Checks the framing of a parsed request. test/app/gateway/checks-framing.test.ts sends similar requests over a socket. */
function check(httpVersion: string, ...fields: [name: string, value: string][]) {
  const headers = Object.fromEntries(fields.map(([name, value]) => [name.toLowerCase(), value]));
  return checkFraming({ httpVersion, headers, rawHeaders: fields.flat() } as unknown as IncomingMessage);
}

const HOST: [string, string] = ['Host', 'x'];
const fields = (count: number) => Array.from({ length: count }, (_, at): [string, string] => [`a${at}`, '']);

test.each<[what: string, status: number, httpVersion: string, fields: [string, string][]]>([
  ['a second Host', 400, '1.1', [HOST, ['hOST', 'x']]],
  ['no Host', 400, '1.1', []],
  ['a Host with a user name', 400, '1.1', [['Host', 'me@x']]],
  ['a Transfer-Encoding other than chunked', 400, '1.1', [HOST, ['Transfer-Encoding', 'gzip, chunked']]],
  ['a Transfer-Encoding in HTTP/1.0', 400, '1.0', [HOST, ['Transfer-Encoding', 'chunked']]],
  ['no version', 400, '0.9', [HOST]],
  ['an unknown version', 505, '1.2', [HOST]],
  ['an unknown expectation', 417, '1.1', [HOST, ['Expect', 'a reply']]],
  ['101 header fields', 431, '1.1', [HOST, ...fields(100)]],
])('a request with %s is refused, and its connection closes', (_what, status, httpVersion, sent) => {
  const refusal = check(httpVersion, ...sent);
  expect([refusal?.status, refusal?.headers['connection']]).toEqual([status, 'close']);
});

test.each<[what: string, httpVersion: string, fields: [string, string][]]>([
  ['a chunked body', '1.1', [HOST, ['Transfer-Encoding', 'Chunked']]],
  ['100 header fields', '1.1', [HOST, ...fields(99)]],
  ['no Host in HTTP/1.0', '1.0', []],
  ['a known expectation', '1.1', [HOST, ['Expect', '100-continue']]],
])('a request with %s is accepted', (_what, httpVersion, sent) => {
  expect(check(httpVersion, ...sent)).toBeNull();
});
