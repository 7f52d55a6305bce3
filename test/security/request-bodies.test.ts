import { buffer } from 'node:stream/consumers';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { useTestApp } from '../support/fixtures.ts';
import { send, statusesOf, statusesTo } from './request-text.ts';

let cookie: string;
let bodies: string[];
const testApp = useTestApp();
beforeEach(async () => {
  testApp.serviceRequests.length = 0;
  bodies = [];
  testApp.intercept = (req, res) => {
    void buffer(req).then((body) => {
      bodies.push(body.toString('latin1'));
      return res.end('{}');
    });
    return true;
  };
  ({ cookie } = await testApp.createSession());
});

async function post(contentType: string, body: string, ...others: string[]): Promise<string> {
  const fields = [`Content-Type: ${contentType}`, `Content-Length: ${body.length}`, ...others];
  return send(testApp, { method: 'POST', cookie, fields, rest: body });
}

describe('the gateway forwards a body byte for byte without parsing it', () => {
  const multipart =
    '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\nx\r\n--b\r\n\r\nrole=admin\r\n--b--\r\n';
  const INJECTED = Buffer.from('a/b\u010d\u010aX-New: 1').toString('latin1');
  const JSON_TYPE = 'application/json';
  const FORM = 'multipart/form-data; boundary=b';
  const cases: [flaw: string, contentType: string, body: string][] = [
    [
      'CVE-2023-51701 @fastify/reply-from: a malformed Content-Type selects the JSON parser',
      `${JSON_TYPE};a`,
      '{"a":1,}',
    ],
    [
      'CVE-2025-32996 http-proxy-middleware: a body is written twice',
      `${FORM}; x="application/json"`,
      multipart,
    ],
    ['CVE-2025-32997 http-proxy-middleware: an unparsable body is rewritten', JSON_TYPE, '{"a":'],
    ['CVE-2026-55603 http-proxy-middleware: line breaks in a body inject fields', FORM, multipart],
    ['CVE-2026-25223 fastify: a tab in Content-Type bypasses validation', `${JSON_TYPE}\ta`, '{"a":1}'],
    ['CVE-2022-35948 undici: CRLF injection through Content-Type', INJECTED, 'body'],
  ];

  test.each(cases)('%s', async (_flaw, contentType, body) => {
    expect(statusesOf(await post(contentType, body))).toEqual([200]);
    expect(bodies).toEqual([body]);
    const headers = testApp.serviceRequests[0]?.headers;
    expect(headers).toMatchObject({ 'content-type': contentType, 'content-length': String(body.length) });
    expect(headers).not.toHaveProperty('x-new');
  });
});

test('CVE-2022-31150 undici: CRLF injection through any field', async () => {
  const value = Buffer.from('a\u010d\u010aX-New: 1').toString('latin1');
  expect(statusesOf(await post('a/b', 'body', `X-Old: ${value}`))).toEqual([200]);
  expect(testApp.serviceRequests[0]?.headers['x-old']).toBe(value);
  expect(testApp.serviceRequests[0]?.headers['x-new']).toBeUndefined();
});

test('CVE-2024-24791 Go net/http: a body after a refused Expect becomes a request', async () => {
  testApp.intercept = (_req, res) => Boolean(res.writeHead(417).end());
  expect(await post('a/b', 'GET /smuggled HTTP/1.1\r\n\r\n', 'Expect: 100-continue')).toMatch(/ 417 /);
  expect(testApp.serviceRequests[0]?.headers['expect']).toBeUndefined();
  testApp.intercept = (_req, res) => Boolean(res.end('next'));
  expect(await post('a/b', '')).toMatch(/next$/);
  expect(testApp.serviceRequests).toHaveLength(2);
});

test('GHSA-6x33-pw7p-hmpq http-proxy: a disconnect during an upload crashes the process', async () => {
  testApp.intercept = (req) => Boolean(req.socket.destroy());
  expect(statusesOf(await post('a/b', 'a'.repeat(60_000)))).toEqual([502]);
  expect(await statusesTo(testApp, { target: '/healthz' })).toEqual([200]);
});
