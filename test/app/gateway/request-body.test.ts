import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { API_PATH as PATH, MIB } from '../../support/constants.ts';
import { openConnection, type RawEnd } from '../../support/raw-client.ts';
import { startRawApp, type RawApp } from '../../support/raw-app.ts';
import { bodyOf, readMessage, valuesOf, without } from '../../support/raw-message.ts';
import { last, ok } from '../../support/raw-service.ts';

const raw = useFixture(async () => startRawApp());
beforeEach(() => {
  raw.service.requests.length = 0;
});

const LAST_CHUNK = '0\r\n\r\n';
const chunk = (bytes: string) => `${bytes.length.toString(16)}\r\n${bytes}\r\n`;
/** The service gets a longer body once this much has arrived. */
const START = 'a'.repeat(64 * 1024);
const EVERY_BYTE = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
const FRAMING = ['content-length', 'transfer-encoding'];

describe('a body', () => {
  test.each(['POST', 'PUT', 'PATCH'])('of no bytes keeps its Content-Length with %s', async (method) => {
    await raw.send(`${method} ${PATH}`, ['Content-Length: 0']);
    const request = raw.came();
    expect(valuesOf(request, 'content-length')).toEqual(['0']);
    expect(valuesOf(request, 'transfer-encoding')).toEqual([]);
    expect(request.rest).toHaveLength(0);
  });

  test.each(['GET', 'HEAD', 'DELETE', 'OPTIONS', 'POST'])(
    'of no chunks arrives empty with %s',
    async (method) => {
      await raw.send(`${method} ${PATH}`, ['Transfer-Encoding: chunked'], LAST_CHUNK);
      const request = raw.came();
      expect(request.body).toHaveLength(0);
      await raw.send(`GET ${PATH}`); // nothing of it is left to be read as a request
      expect(raw.came().start).toBe(`GET ${PATH} HTTP/1.1`);
    },
  );

  test.each(['GET', 'DELETE', 'OPTIONS', 'PROPFIND', 'POST'])(
    'in chunks arrives with its bytes, but without extensions and trailers, with %s',
    async (method) => {
      const fields = ['Transfer-Encoding: chunked', 'Trailer: X-Trail'];
      const body = '3;name=value\r\none\r\n0003\r\ntwo\r\n0;last\r\nX-Trail: 1\r\nHost: other.test\r\n\r\n';
      await raw.send(`${method} ${PATH}`, fields, body);
      const request = raw.came();
      expect(request.body.toString()).toBe('onetwo');
      expect(without(request, FRAMING).join()).not.toMatch(/trail|other\.test/i);
      expect(request.rest.toString('latin1')).not.toMatch(/name|last|Trail|other\.test/);
      expect(FRAMING.flatMap((name) => valuesOf(request, name))).toHaveLength(1);
    },
  );

  test('without its end yet is forwarded in chunks', async () => {
    const taken = raw.service.takeNext();
    const browser = await openConnection(raw.testApp.config.port);
    browser.socket.write(raw.head(`POST ${PATH}`, ['Transfer-Encoding: chunked']));
    browser.socket.write(chunk(START) + chunk('one'));
    const service = await taken;
    const head = readMessage(Buffer.from(await service.until('one'), 'latin1'));
    expect(head && valuesOf(head, 'transfer-encoding')).toEqual(['chunked']);
    expect(head && valuesOf(head, 'content-length')).toEqual([]);
    browser.socket.write(chunk('two') + LAST_CHUNK);
    const whole = readMessage(Buffer.from(await service.until(LAST_CHUNK), 'latin1'));
    expect(whole && bodyOf(whole)?.toString()).toBe(`${START}onetwo`);
    service.socket.end(last('thanks'));
    await browser.until('thanks');
    browser.socket.destroy();
  });

  test('that arrives byte by byte is forwarded byte by byte', async () => {
    const taken = raw.service.takeNext();
    const browser = await openConnection(raw.testApp.config.port);
    browser.socket.write(raw.head(`PUT ${PATH}`, [`Content-Length: ${START.length + 26}`]));
    browser.socket.write(START);
    const service = await taken;
    await service.until(START);
    for (const letter of 'abcdefghijklmnopqrstuvwxyz') {
      browser.socket.write(letter);
      await service.until(new RegExp(`${letter}$`));
    }
    const { rest, fields } = readMessage(Buffer.from(service.text(), 'latin1')) ?? { rest: '', fields: [] };
    expect(rest.toString()).toBe(`${START}abcdefghijklmnopqrstuvwxyz`);
    expect(valuesOf({ fields }, 'content-length')).toEqual([`${START.length + 26}`]);
    service.socket.end(last('thanks'));
    await browser.until('thanks');
    browser.socket.destroy();
  });

  test.each([
    ['with its length', (body: Buffer) => [`Content-Length: ${body.length}`, body] as const],
    [
      'in chunks',
      (body: Buffer) =>
        [
          'Transfer-Encoding: chunked',
          Buffer.concat([
            Buffer.from(`${body.length.toString(16)}\r\n`),
            body,
            Buffer.from(`\r\n${LAST_CHUNK}`),
          ]),
        ] as const,
    ],
  ])('of every byte, and one of 5 MB, arrives unchanged %s', async (_how, frame) => {
    for (const body of [EVERY_BYTE, randomBytes(5_000_000)]) {
      const [field, bytes] = frame(body);
      await raw.send(`POST ${PATH}`, [field, 'Content-Encoding: gzip'], bytes);
      const request = raw.came();
      expect(request.body.equals(body)).toBe(true);
      expect(without(request, FRAMING)).toContainEqual(['Content-Encoding', 'gzip']);
    }
  });

  test('gets 100 Continue from the gateway, and the service no Expect', async () => {
    const browser = await openConnection(raw.testApp.config.port);
    browser.socket.write(raw.head(`POST ${PATH}`, ['Content-Length: 5', 'Expect: 100-continue']));
    expect(await browser.until('\r\n\r\n')).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    browser.socket.write('hello');
    await browser.until('HTTP/1.1 200 OK');
    const request = raw.came();
    expect(request.body.toString()).toBe('hello');
    expect(valuesOf(request, 'expect')).toEqual([]);
    browser.socket.destroy();
  });
});

const UPLOAD_BYTES = 20 * MIB;

/** Sends as fast as the other side reads, until all is sent or the connection is over. */
async function sendAll({ socket, over }: RawEnd, bytes: number): Promise<void> {
  const part = Buffer.alloc(MIB);
  for (let sent = 0; sent < bytes && socket.writable; sent += part.length) {
    if (!socket.write(part)) await Promise.race([over, once(socket, 'drain').catch(() => {})]);
  }
}

describe.each([
  ['responds at once, and reads on', (service: RawEnd) => service.socket.write(ok('early answer'))],
  ['responds at once, and closes', (service: RawEnd) => service.socket.end(last('early answer'))],
])('a service that %s', (_how, answer) => {
  test('reaches a client that is still sending, and the connection ends in order', async () => {
    const { browser, service } = await raw.begin(`POST ${PATH}`, [`Content-Length: ${UPLOAD_BYTES}`], START);
    const sent = sendAll(browser, UPLOAD_BYTES - START.length);
    service.socket.pause();
    answer(service);
    const head = await browser.until('early answer');
    expect(head).toMatch(/^HTTP\/1.1 200 OK\r\n/);
    expect(head).toMatch(/\r\nConnection: close\r\n/i);
    await sent;
    expect(await browser.over).toBe('end');
    service.socket.destroy();
  });

  test('leaves a gateway that serves the next request', async () => {
    const { browser, service } = await raw.begin(`POST ${PATH}`, [`Content-Length: ${UPLOAD_BYTES}`], START);
    answer(service);
    await browser.until('early answer');
    raw.service.answer = () => ok('next');
    expect((await raw.send(`GET ${PATH}`)).rest.toString()).toBe('next');
    browser.socket.destroy();
    service.socket.destroy();
  });
});
