import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { API_PATH as PATH } from '../../support/constants.ts';
import { startRawApp } from '../../support/raw-app.ts';
import type { RawApp } from '../../support/raw-app.ts';

// What is sent next here is sent only once the other side has seen what came before: were anything held back on the way,
// these tests would stand still.

let raw: RawApp;
beforeAll(async () => {
  raw = await startRawApp();
});
afterAll(async () => raw[Symbol.asyncDispose]());

const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
const EVENTS = Array.from({ length: 20 }, (_, at) => `id: ${at}\ndata: {"at":${at}}\n\n`);
const EVENT_STREAM = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n';

describe('an answer comes as it is sent:', () => {
  test.each([
    ['Transfer-Encoding: chunked', chunk, '0\r\n\r\n'],
    [`Content-Length: ${EVENTS.join('').length}`, String, ''],
    ['X-Until: the end', String, ''],
  ])('events, each before the next (%s)', async (framing, frame, end) => {
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
    expect(await browser.over).toBe('end');
    expect(browser.text().split('data: ')).toHaveLength(EVENTS.length + 1);
  });

  test('its head before its body', async () => {
    const { browser, service } = await raw.begin(`GET ${PATH}`);
    service.socket.write(`${EVENT_STREAM}Transfer-Encoding: chunked\r\n\r\n`);
    expect(await browser.until('\r\n\r\n')).toMatch(/^HTTP\/1.1 200 OK\r\n/);
    service.socket.end('0\r\n\r\n');
    expect(await browser.until('0\r\n\r\n')).toMatch(/\r\n\r\n0\r\n\r\n$/);
    browser.socket.destroy();
  });

  test('a single byte, of a packed body too', async () => {
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

  test('though the upload that it answers goes on', async () => {
    const { browser, service } = await raw.begin(
      `POST ${PATH}`,
      ['Transfer-Encoding: chunked'],
      chunk('x'.repeat(64 * 1024)) + chunk('ask 0'), // the service hears of it once 64 KiB are here
    );
    await service.until('ask 0');
    service.socket.write(`${EVENT_STREAM}Transfer-Encoding: chunked\r\n\r\n`);
    for (let at = 0; at < 10; at += 1) {
      service.socket.write(chunk(`answer ${at}`));
      await browser.until(`answer ${at}`);
      browser.socket.write(chunk(`ask ${at + 1}`));
      await service.until(`ask ${at + 1}`);
    }
    browser.socket.write('0\r\n\r\n');
    await service.until('0\r\n\r\n');
    service.socket.end('0\r\n\r\n');
    expect(await browser.until('0\r\n\r\n')).toMatch(/^HTTP\/1.1 200 OK\r\n/);
    browser.socket.destroy();
  });

  test('and of two at once none waits for the other', async () => {
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
