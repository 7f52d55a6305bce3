import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { API_PATH, CHUNKED } from '../support/constants.ts';
import { useTestApp } from '../support/fixtures.ts';
import { openConnection } from '../support/raw-client.ts';
import { requestText, statusesOf, statusesTo } from './request-text.ts';

let cookie: string;
const testApp = useTestApp();
beforeAll(async () => {
  testApp.intercept = (req, res) => Boolean(req.resume().once('end', () => res.end('{}')));
});
beforeEach(async () => {
  testApp.serviceRequests.length = 0;
  ({ cookie } = await testApp.createSession());
});

const SMUGGLED = `GET /api/public/v1/smuggled HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
const HIDDEN_LENGTH = `Content-Length: ${SMUGGLED.length}`;
const END = `0\r\n\r\n${SMUGGLED}`;

const post = (fields: string[], rest = '') =>
  requestText({ method: 'POST', cookie, fields: ['Connection: keep-alive', ...fields], rest });

describe('a request with ambiguous framing closes its connection and is never forwarded', () => {
  const LENGTH = 'Content-Length: 5';
  const coding = (value: string) => `Transfer-Encoding: ${value}`;
  const cases: [flaw: string, fields: string[], rest: string][] = [
    [
      'CVE-2019-15605 Node.js: a malformed Transfer-Encoding is treated as chunked',
      [coding('chunked-false'), LENGTH],
      END,
    ],
    [
      'CVE-2020-8287 Node.js: the second Transfer-Encoding field is ignored',
      [CHUNKED, coding('chunked-false')],
      END,
    ],
    ['CVE-2022-32213 Node.js: Transfer-Encoding is not validated', [coding('chunkedchunked'), LENGTH], END],
    [
      'CVE-2022-32215 Node.js: a multi-line Transfer-Encoding is misread',
      [coding('chunked\r\n , identity')],
      END,
    ],
    ['CVE-2021-22959 Node.js: a space before the colon is accepted', ['Content-Length : 5', CHUNKED], END],
    ['CVE-2022-32214 Node.js: a bare LF ends a field', ['X-A: b\nTransfer-Encoding: chunked'], END],
    ['CVE-2022-35256 Node.js: a bare CR ends a field', ['X-A: b\rTransfer-Encoding: chunked'], END],
    ['CVE-2023-30589 Node.js: a bare CR ends an empty field', ['X-A:\r\rContent-Length: 5'], SMUGGLED],
    ['CVE-2024-27982 Node.js: a space before Content-Length is accepted', [' Content-Length: 5'], SMUGGLED],
    ['CVE-2021-22960 Node.js: chunk extensions are not validated', [CHUNKED], `2 x\r\nab\r\n${END}`],
    [
      'CVE-2025-55315 Kestrel: a bare LF in a chunk extension is accepted',
      [CHUNKED],
      `2;\nxx\r\nab\r\n${END}`,
    ],
    ['CVE-2023-40225 HAProxy: an empty Content-Length is forwarded', ['Content-Length:'], SMUGGLED],
    ['CVE-2023-25725 HAProxy: an empty field name truncates the head', [': x', HIDDEN_LENGTH], SMUGGLED],
    [
      'CVE-2026-1525 undici: duplicate Content-Length fields differ in case',
      ['content-length: 5', HIDDEN_LENGTH],
      SMUGGLED,
    ],
    ['CVE-2019-9900 Envoy: NUL in a field value is accepted', ['X-A: b\0c', 'Content-Length: 0'], ''],
  ];

  test.each(cases)('%s', async (_flaw, fields, rest) => {
    const client = await openConnection(testApp.config.port);
    client.socket.write(post(fields, rest));
    await client.closed;
    expect(client.text()).toMatch(/^$|^HTTP\/1\.1 400 [^]*\r\nconnection: close\r\n/i);
    expect(statusesOf(client.text()).length).toBeLessThan(2);
    expect(testApp.serviceRequests).toEqual([]);
  });
});

test('CVE-2025-23167 Node.js: CR LF CR ends the head', async () => {
  const text = `POST ${API_PATH} HTTP/1.1\r\nHost: x\r\nCookie: ${cookie}\r\nX-Requested-With: t\r\n\rX${SMUGGLED}`;
  expect(await statusesTo(testApp, text)).toEqual([400]);
  expect(testApp.serviceRequests).toEqual([]);
});

test('CVE-2026-58044 Node.js: a Content-Length beyond the field limit is ignored', async () => {
  const fields = [...Array.from({ length: 2_500 }, (_, index) => `a${index}:`), 'Content-Length: 0'];
  expect(await statusesTo(testApp, post(fields, SMUGGLED))).toEqual([431]);
  expect(testApp.serviceRequests).toEqual([]);
});

test('CVE-2018-12121 Node.js: large heads exhaust memory', async () => {
  expect(await statusesTo(testApp, { fields: [`X-A: ${'a'.repeat(20_000)}`] })).toEqual([431]);
});

test('CVE-2024-22019 Node.js: unlimited chunk extensions exhaust CPU', async () => {
  const client = await openConnection(testApp.config.port);
  client.socket.write(post([CHUNKED], `2;${'a'.repeat(100_000)}\r\nab\r\n0\r\n\r\n`));
  await client.closed; // the server closes the connection before it has read the entire request
  expect(statusesOf(client.text()).filter((status) => status !== 400)).toEqual([]);
  expect(testApp.serviceRequests).toEqual([]);
});

test('CVE-2019-20372 nginx: a refused body becomes a request', async () => {
  const fields = [HIDDEN_LENGTH];
  const text = post(fields, SMUGGLED + requestText({ target: '/healthz' }));
  expect((await statusesTo(testApp, text.replace(API_PATH, '/api/elsewhere')))[0]).toBe(404);
  expect(testApp.serviceRequests).toEqual([]);
});

test('CVE-2026-58055 nghttpx: an upgrade desynchronises a shared connection', async () => {
  const fields = ['Connection: close, Upgrade', 'Upgrade: websocket', HIDDEN_LENGTH];
  expect(await statusesTo(testApp, { method: 'POST', cookie, fields, rest: SMUGGLED })).toEqual([200]);
  expect(testApp.serviceRequests.map(({ method, url }) => `${method} ${url}`)).toEqual([`POST ${API_PATH}`]);
  expect(testApp.serviceRequests[0]?.headers).toMatchObject({ 'content-length': String(SMUGGLED.length) });
  expect(testApp.serviceRequests[0]?.headers.upgrade).toBeUndefined();
});
