import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { API_PATH as PATH, MIB } from '../../support/constants.ts';
import type { RawEnd } from '../../support/raw-client.ts';
import { startRawApp } from '../../support/raw-app.ts';
import type { RawApp } from '../../support/raw-app.ts';
import { last, ok } from '../../support/raw-service.ts';

const UPLOAD = 20 * MIB;
/** The service hears of a longer body once this much has arrived. */
const START = 'x'.repeat(64 * 1024);

let raw: RawApp;
beforeAll(async () => {
  raw = await startRawApp({ MAX_BODY_BYTES: String(2 * UPLOAD) });
});
afterAll(async () => raw[Symbol.asyncDispose]());

/** Sends on as fast as the other side takes it, until all is sent or the connection is over. */
async function sendAll({ socket, over }: RawEnd, bytes: number): Promise<void> {
  const part = Buffer.alloc(MIB);
  for (let sent = 0; sent < bytes && socket.writable; sent += part.length) {
    if (!socket.write(part)) await Promise.race([over, once(socket, 'drain').catch(() => {})]);
  }
}

describe.each([
  ['answers at once, and reads on', (service: RawEnd) => service.socket.write(ok('early answer'))],
  ['answers at once, and closes', (service: RawEnd) => service.socket.end(last('early answer'))],
])('a service that %s', (_how, answer) => {
  test('is heard by a browser that is still sending, and the connection ends in order', async () => {
    const { browser, service } = await raw.begin(`POST ${PATH}`, [`Content-Length: ${UPLOAD}`], START);
    const sent = sendAll(browser, UPLOAD - START.length);
    service.socket.pause();
    answer(service);
    const head = await browser.until('early answer');
    expect(head).toMatch(/^HTTP\/1.1 200 OK\r\n/);
    expect(head).toMatch(/\r\nConnection: close\r\n/i);
    await sent;
    expect(await browser.over).toBe('end');
    service.socket.destroy();
  });

  test('leaves a gateway that serves the next call', async () => {
    const { browser, service } = await raw.begin(`POST ${PATH}`, [`Content-Length: ${UPLOAD}`], START);
    answer(service);
    await browser.until('early answer');
    raw.service.answer = () => ok('next');
    expect((await raw.send(`GET ${PATH}`)).rest.toString()).toBe('next');
    browser.socket.destroy();
    service.socket.destroy();
  });
});
