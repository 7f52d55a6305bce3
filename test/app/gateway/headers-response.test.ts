import { gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { API_PATH as PATH } from '../../support/constants.ts';
import { startRawApp } from '../../support/raw-app.ts';
import { dechunk, valuesOf, withoutFields, type RawMessage } from '../../support/raw-message.ts';
import { okAndClose, ok } from '../../support/raw-service.ts';
import { useFixture } from '../../support/fixtures.ts';

// These tests check which bytes of a response the client receives, and when.

const raw = useFixture(async () => startRawApp());
beforeEach(() => {
  raw.service.requests.length = 0;
});

/** Hop-by-hop fields, and fields that the gateway sets. All other fields come from the service. */
const OURS = [
  ...['via', 'x-request-id', 'server-timing', 'cache-control', 'vary', 'content-security-policy'],
  ...['x-content-type-options', 'connection', 'keep-alive', 'date', 'transfer-encoding'],
];
const EVERY_BYTE = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));

/** Makes the service respond with exactly these lines and this body. */
function respondWith(lines: readonly string[], body: Buffer | string = ''): void {
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  raw.service.respond = () => Buffer.concat([head, Buffer.from(body)]);
}

/** Returns the status, and the body without its framing. The body is null if it is incomplete. */
function contentOf(response: RawMessage): { status: number; body: Buffer | null } {
  const isChunked = valuesOf(response, 'transfer-encoding').length > 0;
  return {
    status: Number(response.start.slice(9, 12)),
    body: isChunked ? dechunk(response.rest) : response.rest,
  };
}

/** Expects the next response to be correct, with nothing left over from the previous response. */
async function expectNextToWork(): Promise<void> {
  raw.service.respond = () => ok('next');
  expect(contentOf(await raw.send(`GET ${PATH}`))).toEqual({ status: 200, body: Buffer.from('next') });
}

describe('a response', () => {
  test.each([
    200, 201, 202, 203, 206, 226, 299, 300, 301, 400, 402, 404, 409, 418, 422, 429, 451, 499, 500, 503, 599,
    999,
  ])('with status %i arrives with its fields and body', async (status) => {
    const fields = ['Content-Type: a/b', 'Content-Length: 256', 'Retry-After: 1'];
    respondWith([`HTTP/1.1 ${status} Whatever`, ...fields], EVERY_BYTE);
    const response = await raw.send(`GET ${PATH}`);
    expect(contentOf(response)).toEqual({ status, body: EVERY_BYTE });
    expect(withoutFields(response, OURS).map((field) => field.join(': '))).toEqual(fields);
  });

  test('keeps the order, case and values of its fields, including repeated fields', async () => {
    const fields = [
      ['b-lower', '1,2 ,  3'],
      ['ETag', 'W/"a,b"'],
      ['X-Empty', ''],
      ['X-Bytes', EVERY_BYTE.subarray(0x80).toString('latin1')],
      ['X-Tab', 'a\tb'],
      ['WWW-Authenticate', 'Basic realm="x"'],
      ['Server', 'raw'],
      ['Link', '</a>; rel=next'],
      ['X-Long', 'v'.repeat(14_000)],
      ['Link', '</b>; rel=last'],
      ['link', '</c>; rel=first'],
      ['Content-Length', '256'],
    ] as const;
    respondWith(['HTTP/1.1 200 OK', ...fields.map((field) => field.join(': '))], EVERY_BYTE);
    expect(withoutFields(await raw.send(`GET ${PATH}`), OURS)).toEqual(fields);
  });

  test.each([
    ['gzip', gzipSync('packed')],
    ['br', Buffer.from('8b0280', 'hex')],
    ['zstd, gzip', EVERY_BYTE],
  ])('with the encoding %s stays encoded', async (encoding, packed) => {
    const fields = [`Content-Encoding: ${encoding}`, `Content-Length: ${packed.length}`];
    respondWith(['HTTP/1.1 200 OK', ...fields], packed);
    const response = await raw.send(`GET ${PATH}`, ['Accept-Encoding: gzip;q=0.5, br']);
    expect(valuesOf(response, 'content-encoding')).toEqual([encoding]);
    expect(valuesOf(response, 'content-length')).toEqual([String(packed.length)]);
    expect(contentOf(response).body).toEqual(packed);
    expect(valuesOf(raw.takeRequest(), 'accept-encoding')).toEqual(['gzip;q=0.5, br']);
  });

  test('with status 304 after a conditional request arrives with its fields', async () => {
    // In a 304, Content-Length is the length that the body of a 200 would have (RFC 9110 §8.6).
    respondWith(['HTTP/1.1 304 Not Modified', 'ETag: "e"', 'Content-Length: 1234']);
    const conditions = ['If-None-Match: W/"d", "e"', 'If-Modified-Since: Sat, 01 Jan 2000 00:00:00 GMT'];
    const response = await raw.send(`GET ${PATH}`, conditions);
    expect(contentOf(response)).toEqual({ status: 304, body: Buffer.alloc(0) });
    expect(valuesOf(response, 'etag')).toEqual(['"e"']);
    expect(valuesOf(response, 'content-length')).toEqual(['1234']);
    expect(raw.takeRequest().fields.map((field) => field.join(': '))).toEqual(
      expect.arrayContaining(conditions),
    );
    await expectNextToWork();
  });

  test.each([
    ['204 without a Content-Length', 204, [], []],
    ['204 with a Content-Length, which RFC 9110 §8.6 forbids', 204, ['Content-Length: 5'], []],
    ['205', 205, ['Content-Length: 0'], ['0']],
  ])('without a body arrives without a body (%s)', async (_what, status, fields, lengths) => {
    respondWith([`HTTP/1.1 ${status} No Content`, ...fields, 'X-One: 1']);
    const response = await raw.send(`DELETE ${PATH}`);
    expect(contentOf(response)).toEqual({ status, body: Buffer.alloc(0) });
    expect(valuesOf(response, 'x-one')).toEqual(['1']);
    expect(valuesOf(response, 'content-length')).toEqual(lengths);
    await expectNextToWork();
  });

  test.each([
    ['a Content-Length', 'Content-Length: 1234'],
    ['a Transfer-Encoding', 'Transfer-Encoding: chunked'],
    ['neither', 'X-One: 1'],
  ])('to HEAD with %s has no body', async (_what, field) => {
    respondWith(['HTTP/1.1 200 OK', field]);
    const response = await raw.send(`HEAD ${PATH}`);
    expect(response.start).toMatch(/^HTTP\/1.1 200 /);
    expect(valuesOf(response, 'content-length')).toEqual(field.startsWith('Content-Length') ? ['1234'] : []);
    expect(response.rest).toHaveLength(0);
    await expectNextToWork();
  });
});

const HEAD = 'HTTP/1.1 200 OK\r\n';

test('a chunked response arrives without its chunk extensions or trailers', async () => {
  const fields = 'Transfer-Encoding: chunked\r\nTrailer: X-Trail, Set-Cookie\r\n\r\n';
  const body = '3;name=value\r\none\r\n0003\r\ntwo\r\n0\r\nX-Trail: 1\r\nSet-Cookie: hostile=1\r\n\r\n';
  raw.service.respond = () => HEAD + fields + body;
  const response = await raw.send(`GET ${PATH}`);
  expect(dechunk(response.rest)?.toString()).toBe('onetwo');
  expect(valuesOf(response, 'trailer')).toEqual([]);
  expect(response.rest.toString('latin1')).not.toMatch(/name|X-Trail|hostile/i);
  await expectNextToWork();
});

test('a close-delimited response arrives in full', async () => {
  raw.service.respond = (_request, socket) => {
    socket.end(`${HEAD}\r\nuntil the end`);
    return null;
  };
  const response = await raw.send(`GET ${PATH}`);
  expect(valuesOf(response, 'content-length')).toEqual([]);
  expect(contentOf(response).body?.toString()).toBe('until the end');
  await expectNextToWork();
});

test.each(['', 'Connection: keep-alive\r\n'])(
  'the gateway forwards an HTTP/1.0 response as HTTP/1.1 (%j)',
  async (field) => {
    raw.service.respond = (_request, socket) => {
      socket.end(`HTTP/1.0 200 OK\r\n${field}Content-Length: 3\r\n\r\nold`);
      return null;
    };
    const response = await raw.send(`GET ${PATH}`);
    expect(response.start).toBe('HTTP/1.1 200 OK');
    expect(response.rest.toString()).toBe('old');
    await expectNextToWork();
  },
);

test('the gateway drops interim responses', async () => {
  const hints = 'HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\nX-Early: 1\r\n\r\n';
  raw.service.respond = () => hints + hints + 'HTTP/1.1 102 Processing\r\n\r\n' + ok('late');
  const response = await raw.send(`GET ${PATH}`);
  expect(response.start).toBe('HTTP/1.1 200 OK');
  expect(valuesOf(response, 'x-early')).toEqual([]);
  expect(response.rest.toString()).toBe('late');
});

test('the gateway opens a new connection if the service has closed an idle connection', async () => {
  raw.service.respond = () => okAndClose('one');
  expect((await raw.send(`GET ${PATH}`)).rest.toString()).toBe('one');
  for (const socket of raw.service.sockets) socket.destroy();
  await expectNextToWork();
});

// RFC 9110 §15.2 allows a client to ignore an unexpected 100, but undici refuses it.
test('an unexpected 100 is never treated as the final response', async () => {
  raw.service.respond = () => `HTTP/1.1 100 Continue\r\n\r\n${ok('then')}`;
  const { start } = await raw.send(`GET ${PATH}`);
  expect(start).toMatch(/^HTTP\/1.1 (?:200|502) /);
  await expectNextToWork();
});

test('the gateway refuses a response with an unsupported transfer coding', async () => {
  raw.service.respond = () =>
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n';
  const { start } = await raw.send(`GET ${PATH}`);
  expect(start).toMatch(/^HTTP\/1.1 502 /);
});

const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
const EVENTS = Array.from({ length: 20 }, (_, at) => `id: ${at}\ndata: {"at":${at}}\n\n`);
const EVENT_STREAM = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n';

// The service sends each part once the client has received the previous one. If the gateway buffered data, these tests would never finish.
describe('the gateway does not buffer', () => {
  test.each([
    ['Transfer-Encoding: chunked', chunk, '0\r\n\r\n'],
    [`Content-Length: ${EVENTS.join('').length}`, String, ''],
    ['X-Until: the end', String, ''],
  ])('server-sent events (%s)', async (framing, frame, end) => {
    const { browser, service } = await raw.begin(`GET ${PATH}`, [
      'Accept: text/event-stream',
      'Connection: close',
    ]);
    service.socket.write(`${EVENT_STREAM}${framing}\r\n\r\n`);
    await browser.until('\r\n\r\n');
    for (const event of EVENTS) {
      service.socket.write(frame(event));
      await browser.until(event);
    }
    service.socket.end(end);
    expect(await browser.closed).toBe('end');
    expect(browser.text().split('data: ')).toHaveLength(EVENTS.length + 1);
  });

  test('single bytes of an encoded body', async () => {
    const { browser, service } = await raw.begin(`GET ${PATH}`);
    service.socket.write(`${EVENT_STREAM}Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\n`);
    for (const part of ['\u001f', '\u008b', '\u0008', '\u0000']) {
      service.socket.write(part, 'latin1');
      await browser.until(part);
    }
    expect(browser.text().endsWith('\r\n\r\n\u001F\u008B\b\0')).toBe(true);
    browser.socket.destroy();
    service.socket.destroy();
  });

  test('a response during an upload', async () => {
    const { browser, service } = await raw.begin(
      `POST ${PATH}`,
      ['Transfer-Encoding: chunked'],
      chunk('x'.repeat(64 * 1024)) + chunk('sent 0'), // the gateway starts the upstream request once 64 KiB have arrived
    );
    await service.until('sent 0');
    service.socket.write(`${EVENT_STREAM}Transfer-Encoding: chunked\r\n\r\n`);
    for (let at = 0; at < 10; at += 1) {
      service.socket.write(chunk(`received ${at}`));
      await browser.until(`received ${at}`);
      browser.socket.write(chunk(`sent ${at + 1}`));
      await service.until(`sent ${at + 1}`);
    }
    browser.socket.write('0\r\n\r\n');
    await service.until('0\r\n\r\n');
    service.socket.end('0\r\n\r\n');
    expect(await browser.until('0\r\n\r\n')).toMatch(/^HTTP\/1.1 200 OK\r\n/);
    browser.socket.destroy();
  });

  test('a response while another response is in progress', async () => {
    const slow = await raw.begin(`GET ${PATH}/slow`);
    slow.service.socket.write(`${EVENT_STREAM}Transfer-Encoding: chunked\r\n\r\n`);
    await slow.browser.until('\r\n\r\n');
    const quick = await raw.send(`GET ${PATH}/quick`);
    expect(quick.start).toBe('HTTP/1.1 200 OK');
    slow.service.socket.end(`${chunk('at last')}0\r\n\r\n`);
    expect(await slow.browser.until('0\r\n\r\n')).toContain('at last');
    slow.browser.socket.destroy();
  });
});
