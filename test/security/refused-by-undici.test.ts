import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { exchangeBytes } from '../support/raw.ts';
import { requestText, statusesOf } from './request-text.ts';
import { useTestApp } from '../support/fixtures.ts';

// undici's Pool never uses a connection again to which it gave a request that it finds invalid (7.30): whatever Node's
// parser lets in must be what undici takes, or a browser could use the connections up one by one.

let cookie: string;
const testApp = useTestApp({ SERVICE_CONNECTIONS: '1' });
beforeAll(async () => {
  testApp.intercept = (req, res) => Boolean(req.resume().once('end', () => res.end('{}')));
  ({ cookie } = await testApp.createSession());
});
beforeEach(() => {
  testApp.serviceRequests.length = 0;
});

async function statusOf(text: string): Promise<number | undefined> {
  return statusesOf(
    (await exchangeBytes(testApp.config.port, Buffer.from(text, 'latin1'))).toString('latin1'),
  ).at(-1);
}

const BYTES = Array.from({ length: 256 }, (_, code) => String.fromCodePoint(code));

describe('each byte that gets through to us gets through to the service', () => {
  const places: [where: string, toText: (byte: string) => Parameters<typeof requestText>[0]][] = [
    ['a field’s name', (byte) => ({ fields: [`x${byte}y: 1`] })],
    ['a field’s value', (byte) => ({ fields: [`X-Y: a${byte}b`] })],
    ['the path', (byte) => ({ target: `/api/public/v1/a${byte}b` })],
    ['the query', (byte) => ({ target: `/api/public/v1/a?b${byte}c` })],
  ];

  test.each(places)('in %s', async (_where, toText) => {
    const seen = new Map<number | undefined, number>();
    for (const byte of BYTES) {
      const { fields = [], ...rest } = toText(byte);
      const status = await statusOf(requestText({ ...rest, fields: [`Cookie: ${cookie}`, ...fields] }));
      seen.set(status, (seen.get(status) ?? 0) + 1);
    }
    expect(new Set(seen.keys())).toEqual(new Set([200, 400]));
    expect(testApp.serviceRequests).toHaveLength(seen.get(200) ?? 0);
  });
});

describe('what undici has rules of its own for is no call that it refuses', () => {
  const heads: [what: string, method: string, fields: string[], rest: string][] = [
    ['a GET with a body', 'GET', ['Content-Length: 2'], 'ab'],
    ['a GET with an empty body', 'GET', ['Content-Length: 0'], ''],
    ['a HEAD with a body', 'HEAD', ['Content-Length: 2'], 'ab'],
    ['a length with zeros before it', 'POST', ['Content-Length: 0002'], 'ab'],
    ['a chunked body of nothing', 'POST', ['Transfer-Encoding: chunked'], '0\r\n\r\n'],
    ['trailers', 'POST', ['Transfer-Encoding: chunked', 'Trailer: X-T'], '1\r\na\r\n0\r\nX-T: 1\r\n\r\n'],
    ['Keep-Alive', 'GET', ['Keep-Alive: timeout=5, max=9'], ''],
    ['TE', 'GET', ['TE: trailers'], ''],
    ['Upgrade', 'GET', ['Upgrade: h2c'], ''],
    ['Expect', 'POST', ['Expect: 100-continue', 'Content-Length: 2'], 'ab'],
    ['a method that few know', 'M-SEARCH', [], ''],
    ['a QUERY', 'QUERY', ['Content-Length: 2'], 'ab'],
    ['an empty field', 'GET', ['X-Empty:'], ''],
    ['names that look like those that are taken off', 'GET', ['Keep_Alive: 1', 'Transfer.Encoding: x'], ''],
  ];

  test.each(heads)('%s', async (_what, method, fields, rest) => {
    const known = [200, ...(method === 'QUERY' ? [400] : [])]; // Node 20 does not know it
    const all = [`Cookie: ${cookie}`, ...fields];
    expect(known).toContain(await statusOf(requestText({ method, fields: all, rest })));
    expect(await statusOf(requestText({ fields: [`Cookie: ${cookie}`] }))).toBe(200);
  });
});
