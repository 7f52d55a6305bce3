import { describe, expect, test } from '@jest/globals';
import { toBrowserHeaders, toServiceHeaders } from '../../src/gateway/headers.ts';

const forwarded = (...raw: string[]) => toServiceHeaders(raw, 'token', 'id');
const OURS = ['authorization', 'Bearer token', 'x-request-id', 'id', 'via', '1.1 cloakroom'];

describe('headers to the service', () => {
  test('keep names, values and order as they came, and end with ours', () => {
    const raw = ['Accept', 'a/b', 'X-Two', '1', 'X-Two', '2', 'Range', 'bytes=0-1', 'If-None-Match', '"e"'];
    expect(forwarded(...raw)).toEqual([...raw, ...OURS]);
  });

  test.each([
    ...[
      'Cookie',
      'Authorization',
      'Forwarded',
      'X-Forwarded-For',
      'X-Forwarded-Proto',
      'X-Forwarded-Anything',
    ],
    ...[
      'Connection',
      'Keep-Alive',
      'Proxy-Authorization',
      'Proxy-Connection',
      'TE',
      'Trailer',
      'Transfer-Encoding',
    ],
    ...['Upgrade', 'HTTP2-Settings', 'Host', 'Expect', 'X-Request-Id', 'Via', 'X-Real-IP', 'True-Client-IP'],
    ...['X_Forwarded_For', 'X.Forwarded.For', 'x_forwarded-for', 'X_Real_IP', 'Authorization_'.slice(0, -1)],
  ])('never hold the browser’s %s', (name) => {
    expect(forwarded(name, 'hostile')).toEqual(OURS);
  });

  test('leave out what Connection names, in whatever spelling', () => {
    expect(forwarded('Connection', 'close, X-One,x-two', 'X-One', '1', 'X_Two', '2', 'X-Three', '3')).toEqual(
      ['X-Three', '3', ...OURS],
    );
  });

  test('keep ours though Connection names them', () => {
    expect(forwarded('Connection', 'authorization, x-request-id, via')).toEqual(OURS);
  });
});

const returned = (...raw: string[]) => toBrowserHeaders(raw, 'id', 'session;dur=1');

/** All values of a header, in order. */
function valuesOf(headers: readonly string[], name: string): string[] {
  return headers.filter((_value, index) => headers[index - 1]?.toLowerCase() === name && index % 2 === 1);
}

describe('headers to the browser', () => {
  test.each([
    ...[
      'Set-Cookie',
      'Connection',
      'Keep-Alive',
      'Transfer-Encoding',
      'Trailer',
      'Upgrade',
      'Proxy-Authenticate',
    ],
    'Set_Cookie',
  ])('never hold the service’s %s', (name) => {
    expect(returned(name, 'hostile').join('\n')).not.toContain('hostile');
  });

  test('keep encodings, ranges, validators and repeated names', () => {
    const raw = [
      'Content-Encoding',
      'br',
      'Content-Range',
      'bytes 0-1/2',
      'ETag',
      '"e"',
      'Link',
      'a',
      'Link',
      'b',
    ];
    expect(returned(...raw).slice(0, raw.length)).toEqual(raw);
  });

  test('name this gateway after whoever answered it', () => {
    expect(valuesOf(returned('Via', '1.1 edge'), 'via')).toEqual(['1.1 edge, 1.1 cloakroom']);
    expect(valuesOf(returned(), 'via')).toEqual(['1.1 cloakroom']);
  });

  test('keep an answer for this browser alone where the service says nothing of caching', () => {
    expect(valuesOf(returned(), 'cache-control')).toEqual(['private, no-cache']);
    expect(valuesOf(returned('Cache-Control', 'max-age=5'), 'cache-control')).toEqual(['max-age=5']);
  });

  test('let nothing run in an answer that is opened as a page', () => {
    expect(valuesOf(returned('Content-Type', 'text/html'), 'content-security-policy')[0]).toContain(
      'sandbox',
    );
  });

  test('leave out what Connection names', () => {
    expect(valuesOf(returned('Connection', 'x-one', 'X-One', '1'), 'x-one')).toEqual([]);
  });
});
