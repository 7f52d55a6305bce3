import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { METHODS } from 'node:http';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { API_PATH as PATH, CHUNKED, MIB } from '../../support/constants.ts';
import { useFixture } from '../../support/fixtures.ts';
import { startRawApp } from '../../support/raw-app.ts';
import type { RawConnection } from '../../support/raw-client.ts';
import { bodyOf, readMessage, valuesOf, withoutFields } from '../../support/raw-message.ts';
import { okAndClose, ok } from '../../support/raw-service.ts';

// These tests compare the bytes that the service receives with the bytes that the client sent.

const raw = useFixture(async () => startRawApp());
beforeEach(() => {
  raw.service.requests.length = 0;
});

/** Hop-by-hop fields, and fields that the gateway sets. All other fields come from the client. */
const OURS = ['host', 'connection', 'authorization', 'x-request-id', 'via', 'content-length'];
/** Every request in these tests has this field, which the gateway forwards. */
const SENT = ['Sec-Fetch-Site', 'same-origin'] as const;
const FORWARDED = METHODS.filter((method) => method !== 'TRACE' && method !== 'CONNECT');
const bytesFrom = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at);

describe('a request', () => {
  test.each(FORWARDED)(
    'with the method %s arrives with header fields from both the client and the gateway',
    async (method) => {
      const response = await raw.send(`${method} ${PATH}?a=1`, ['X-One: 1']);
      const request = raw.takeRequest();
      expect(request.start).toBe(`${method} ${PATH}?a=1 HTTP/1.1`);
      expect(withoutFields(request, OURS)).toEqual([SENT, ['X-One', '1']]);
      expect(valuesOf(request, 'host')).toEqual([raw.service.host]);
      expect(valuesOf(request, 'connection').join('|')).toMatch(/^(?:keep-alive|close)$/);
      expect(valuesOf(request, 'authorization')).toEqual(['Bearer a-valid-token']);
      expect(valuesOf(request, 'x-request-id')).toEqual(valuesOf(response, 'x-request-id'));
      expect(valuesOf(request, 'via')).toEqual(['1.1 cloakroom']);
      // In a request, a Content-Length of 0 means the same as no Content-Length (RFC 9110 §8.6).
      expect(['', '0']).toContain(valuesOf(request, 'content-length').join('|'));
      expect(request.rest).toHaveLength(0);
    },
  );

  test.each(FORWARDED)('with the method %s arrives with its body', async (method) => {
    await raw.send(`${method} ${PATH}`, ['Content-Type: text/plain', 'Content-Length: 5'], 'hello');
    const request = raw.takeRequest();
    expect(withoutFields(request, OURS)).toEqual([SENT, ['Content-Type', 'text/plain']]);
    expect(valuesOf(request, 'content-length')).toEqual(['5']);
    expect(request.rest.toString()).toBe('hello');
  });

  test('keeps the order, case and values of its fields, including repeated fields', async () => {
    const fields = [
      ['b-Lower', 'b'],
      ['ACCEPT', '*/*'],
      ['X-Twice', 'one'],
      ['a-between', '1,2 ,  3'],
      ['x-twice', 'two'],
      ['X-Empty', ''],
      ['X-Quoted', '"a\\"b"; c=\'d\'; {e}'],
      ['X-Bytes', String.fromCharCode(...bytesFrom(0x80, 0xff))],
      ['X-Tab', 'a\tb'],
      ['Content-Type', 'a/b'],
      ['content-type', 'c/d'],
      ["!#$%&'*+-.^_`|~1", 'every mark that a name may contain'],
      ['User-Agent', 'one'],
      ['X-Long', 'v'.repeat(14_000)],
    ] as const;
    const lines = fields.map((field) => field.join(': '));
    await raw.send(`GET ${PATH}`, lines);
    expect(withoutFields(raw.takeRequest(), OURS)).toEqual([SENT, ...fields]);
  });
});

const MARKS = String.fromCharCode(...bytesFrom(0x21, 0x7e)).replace('#', '');
const ENCODED = bytesFrom(0, 0xff).map((byte) => `%${byte.toString(16).padStart(2, '0')}`);

test.each([
  ['every visible ASCII character in its query', `?${MARKS}`],
  [
    'every percent-encoded byte in its query, in both cases',
    `?${ENCODED.join('')}&${ENCODED.join('').toUpperCase()}&%zz%2&+`,
  ],
  ['a query of 15 KB', `?${'q'.repeat(15_000)}`],
  ...['?', '??', '?a?b', '?a=/../b//c;d', '?=&&=', '?x='].map((query) => [query, query]),
  [
    'percent-encodings, punctuation and a trailing slash in its path',
    `/a%2Fb;c=d/%e2%82%AC/%41~!$&'()*+,=:@|^"<>{}\`[]/`,
  ],
])('a target with %s arrives unchanged', async (_what, end) => {
  await raw.send(`GET ${PATH}${end}`);
  expect(raw.takeRequest().start).toBe(`GET ${PATH}${end} HTTP/1.1`);
});

test.each([...bytesFrom(0x00, 0x20), 0x23, ...bytesFrom(0x7f, 0xff)])(
  'a query with the invalid byte %i is refused or arrives unchanged',
  async (byte) => {
    const target = `${PATH}?a${String.fromCharCode(byte)}b`;
    const { start } = await raw.send(`GET ${target}`);
    const received = raw.service.requests.map((request) => request.start);
    expect([start.slice(9, 12), ...received]).toEqual(
      start.startsWith('HTTP/1.1 200 ') && byte >= 0x80 ? ['200', `GET ${target} HTTP/1.1`] : ['400'],
    );
  },
);

const LAST_CHUNK = '0\r\n\r\n';
const chunk = (bytes: string) => `${bytes.length.toString(16)}\r\n${bytes}\r\n`;
/** The first part of a long body. Once this part has arrived, the gateway starts the upstream request. */
const START = 'a'.repeat(64 * 1024);
const FRAMING = ['content-length', 'transfer-encoding'];

describe('a body', () => {
  test.each(['POST', 'PUT', 'PATCH'])('of 0 bytes keeps its Content-Length (%s)', async (method) => {
    await raw.send(`${method} ${PATH}`, ['Content-Length: 0']);
    const request = raw.takeRequest();
    expect(valuesOf(request, 'content-length')).toEqual(['0']);
    expect(valuesOf(request, 'transfer-encoding')).toEqual([]);
    expect(request.rest).toHaveLength(0);
  });

  test.each(['GET', 'HEAD', 'DELETE', 'OPTIONS', 'POST'])(
    'with no data chunks is empty (%s)',
    async (method) => {
      await raw.send(`${method} ${PATH}`, [CHUNKED], LAST_CHUNK);
      expect(raw.takeRequest().body).toHaveLength(0);
      await raw.send(`GET ${PATH}`); // checks that nothing is left over from the previous body
      expect(raw.takeRequest().start).toBe(`GET ${PATH} HTTP/1.1`);
    },
  );

  test.each(['GET', 'DELETE', 'OPTIONS', 'PROPFIND', 'POST'])(
    'in chunks arrives without chunk extensions or trailers (%s)',
    async (method) => {
      const fields = [CHUNKED, 'Trailer: X-Trail'];
      const body = '3;name=value\r\none\r\n0003\r\ntwo\r\n0;last\r\nX-Trail: 1\r\nHost: other.test\r\n\r\n';
      await raw.send(`${method} ${PATH}`, fields, body);
      const request = raw.takeRequest();
      expect(request.body.toString()).toBe('onetwo');
      expect(withoutFields(request, FRAMING).join()).not.toMatch(/trail|other\.test/i);
      expect(request.rest.toString('latin1')).not.toMatch(/name|last|Trail|other\.test/);
      expect(FRAMING.flatMap((name) => valuesOf(request, name))).toHaveLength(1);
    },
  );

  test('in chunks is forwarded before it is complete', async () => {
    const { browser, service } = await raw.begin(`POST ${PATH}`, [CHUNKED], chunk(START) + chunk('one'));
    const head = readMessage(Buffer.from(await service.until('one'), 'latin1'));
    expect(head && valuesOf(head, 'transfer-encoding')).toEqual(['chunked']);
    expect(head && valuesOf(head, 'content-length')).toEqual([]);
    browser.socket.write(chunk('two') + LAST_CHUNK);
    const whole = readMessage(Buffer.from(await service.until(LAST_CHUNK), 'latin1'));
    expect(whole && bodyOf(whole)?.toString()).toBe(`${START}onetwo`);
    service.socket.end(okAndClose('thanks'));
    await browser.until('thanks');
    browser.socket.destroy();
  });

  test('that arrives byte by byte is forwarded byte by byte', async () => {
    const length = `Content-Length: ${START.length + 26}`;
    const { browser, service } = await raw.begin(`PUT ${PATH}`, [length], START);
    await service.until(START);
    for (const letter of 'abcdefghijklmnopqrstuvwxyz') {
      browser.socket.write(letter);
      await service.until(new RegExp(`${letter}$`));
    }
    const request = readMessage(Buffer.from(service.text(), 'latin1'));
    expect(request?.rest.toString()).toBe(`${START}abcdefghijklmnopqrstuvwxyz`);
    expect(request && valuesOf(request, 'content-length')).toEqual([`${START.length + 26}`]);
    service.socket.end(okAndClose('thanks'));
    await browser.until('thanks');
    browser.socket.destroy();
  });

  test.each([
    ['with a Content-Length', (body: Buffer) => `Content-Length: ${body.length}`, (body: string) => body],
    ['in chunks', () => CHUNKED, (body: string) => chunk(body) + LAST_CHUNK],
  ])('with every byte value, or of 5 MB, arrives unchanged when sent %s', async (_how, field, frame) => {
    for (const body of [Buffer.from(bytesFrom(0x00, 0xff)), randomBytes(5_000_000)]) {
      const framed = Buffer.from(frame(body.toString('latin1')), 'latin1');
      await raw.send(`POST ${PATH}`, [field(body), 'Content-Encoding: gzip'], framed);
      const request = raw.takeRequest();
      expect(request.body.equals(body)).toBe(true);
      expect(withoutFields(request, FRAMING)).toContainEqual(['Content-Encoding', 'gzip']);
    }
  });
});

const UPLOAD_BYTES = 20 * MIB;

/** Sends data as fast as the gateway reads it, until everything is sent or the connection closes. */
async function sendAll({ socket, closed }: RawConnection, bytes: number): Promise<void> {
  const part = Buffer.alloc(MIB);
  for (let sent = 0; sent < bytes && socket.writable; sent += part.length) {
    if (!socket.write(part)) await Promise.race([closed, once(socket, 'drain').catch(() => {})]);
  }
}

test('if the service responds early and closes the connection, a client that is still uploading gets the response', async () => {
  const { browser, service } = await raw.begin(`POST ${PATH}`, [`Content-Length: ${UPLOAD_BYTES}`], START);
  const sent = sendAll(browser, UPLOAD_BYTES - START.length);
  service.socket.pause().end(okAndClose('early response'));
  expect(await browser.until('early response')).toMatch(
    /^HTTP\/1.1 200 OK\r\n[^]*\r\nConnection: close\r\n/i,
  );
  raw.service.respond = () => ok('next');
  expect((await raw.send(`GET ${PATH}`)).rest.toString()).toBe('next');
  await sent;
  expect(await browser.closed).toBe('end');
  service.socket.destroy();
});
