import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { useTestApp } from '../support/fixtures.ts';
import { statusesTo, type RequestText } from './request-text.ts';

// undici's Pool (7.30) loses a connection each time it rejects an invalid request. A client could exhaust the pool if undici
// rejected a request that Node's parser accepts.

let cookie: string;
const testApp = useTestApp({ SERVICE_CONNECTIONS: '1' });
beforeAll(async () => {
  testApp.intercept = (req, res) => Boolean(req.resume().once('end', () => res.end('{}')));
  ({ cookie } = await testApp.createSession());
});
beforeEach(() => {
  testApp.serviceRequests.length = 0;
});

async function statusOf(request: RequestText): Promise<number | undefined> {
  return (await statusesTo(testApp, { cookie, ...request })).at(-1);
}

const BYTES = Array.from({ length: 256 }, (_, code) => String.fromCodePoint(code));

describe('each byte that Node accepts reaches the service', () => {
  const places: [where: string, toText: (byte: string) => RequestText][] = [
    ['a field name', (byte) => ({ fields: [`x${byte}y: 1`] })],
    ['a field value', (byte) => ({ fields: [`X-Y: a${byte}b`] })],
    ['the path', (byte) => ({ target: `/api/public/v1/a${byte}b` })],
    ['the query', (byte) => ({ target: `/api/public/v1/a?b${byte}c` })],
  ];

  test.each(places)('in %s', async (_where, toText) => {
    const seen = new Map<number | undefined, number>();
    for (const byte of BYTES) {
      const status = await statusOf(toText(byte));
      seen.set(status, (seen.get(status) ?? 0) + 1);
    }
    expect(new Set(seen.keys())).toEqual(new Set([200, 400]));
    expect(testApp.serviceRequests).toHaveLength(seen.get(200) ?? 0);
  });
});

describe('undici accepts', () => {
  const heads: [what: string, method: string, fields: string[], rest: string][] = [
    ['a GET with an empty body', 'GET', ['Content-Length: 0'], ''],
    ['a Content-Length with leading zeros', 'POST', ['Content-Length: 0002'], 'ab'],
    ['a Keep-Alive header', 'GET', ['Keep-Alive: timeout=5, max=9'], ''],
    ['a TE header', 'GET', ['TE: trailers'], ''],
    ['an Upgrade header', 'GET', ['Upgrade: h2c'], ''],
    ['an Expect header', 'POST', ['Expect: 100-continue', 'Content-Length: 2'], 'ab'],
    ['a QUERY request', 'QUERY', ['Content-Length: 2'], 'ab'],
    ['header names that resemble hop-by-hop headers', 'GET', ['Keep_Alive: 1', 'Transfer.Encoding: x'], ''],
  ];

  test.each(heads)('%s', async (_what, method, fields, rest) => {
    const accepted = method === 'QUERY' ? [200, 400] : [200]; // Node 20 rejects QUERY
    expect(accepted).toContain(await statusOf({ method, fields, rest }));
    expect(await statusOf({})).toBe(200);
  });
});
