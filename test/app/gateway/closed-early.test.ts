import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { API_PATH as PATH } from '../../support/constants.ts';
import type { RawEnd } from '../../support/raw-client.ts';
import { startRawApp } from '../../support/raw-app.ts';
import type { RawApp } from '../../support/raw-app.ts';
import { ok } from '../../support/raw-service.ts';
import { turns } from '../../support/turns.ts';

// The service closes its side of the connection while the gateway still holds its response back.

let raw: RawApp;
beforeAll(async () => {
  raw = await startRawApp();
});
afterAll(async () => raw[Symbol.asyncDispose]());
beforeEach(() => {
  for (const socket of raw.service.sockets) socket.destroy(); // those of which a test has taken an end
  raw.service.answer = () => ok('next');
});

const HALF = 40 * 1024;
/** Not because the test waited in vain. */
const CUT_OFF = /^(?:end|closed|ECONNRESET)$/;

/** What was sent has been read by then. */
const untilRead = async () => turns(10);

/**
 * Responds while the browser reads nothing, so that none of the response can go out; closes, and only then lets the
 * browser read. Corking the gateway's socket stands for a browser whose receive window is full.
 */
async function respondToSlowBrowser(fields: string, half: string, rest: string): Promise<RawEnd> {
  const accepted = once(raw.testApp.running.server, 'connection') as Promise<[Socket]>;
  const begun = raw.begin(`GET ${PATH}`);
  const [socket] = await accepted;
  socket.cork();
  const { browser, service } = await begun;
  service.socket.write(`HTTP/1.1 200 OK\r\n${fields}\r\n\r\n${half}`);
  await untilRead();
  service.socket.end(rest);
  await untilRead();
  socket.uncork();
  return browser;
}

async function expectNextToWork(): Promise<void> {
  expect((await raw.send(`GET ${PATH}`)).rest.toString()).toBe('next');
}

describe('an answer that waits for a slow browser', () => {
  const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
  const [half, rest] = ['a'.repeat(HALF), `${'b'.repeat(HALF)}END`];
  const length = `Content-Length: ${half.length + rest.length}`;

  test.each([
    ['with its length, for the last time', `${length}\r\nConnection: close`, half, rest],
    ['with its length', length, half, rest],
    [
      'in chunks, for the last time',
      'Transfer-Encoding: chunked\r\nConnection: close',
      chunk(half),
      `${chunk(rest)}0\r\n\r\n`,
    ],
    ['in chunks', 'Transfer-Encoding: chunked', chunk(half), `${chunk(rest)}0\r\n\r\n`],
    ['until the connection ends', 'X-Until: the end', half, rest],
  ])('comes whole (%s)', async (_framing, fields, first, last) => {
    const browser = await respondToSlowBrowser(fields, first, last);
    const text = await browser.until('END');
    expect(text.match(/a{100,}/g)?.join('')).toHaveLength(HALF);
    expect(text.match(/b{100,}/g)?.join('')).toHaveLength(HALF);
    browser.socket.destroy();
    await expectNextToWork();
  });

  test.each([
    ['short of its length, for the last time', `${length}0\r\nConnection: close`, half, rest],
    ['short of its length', `${length}0`, half, rest],
    [
      'between chunks, for the last time',
      'Transfer-Encoding: chunked\r\nConnection: close',
      chunk(half),
      chunk(rest),
    ],
    ['between chunks', 'Transfer-Encoding: chunked', chunk(half), chunk(rest)],
  ])('is cut off where it breaks off %s', async (_framing, fields, first, last) => {
    const browser = await respondToSlowBrowser(fields, first, last);
    expect(await browser.over).toMatch(CUT_OFF);
    expect(browser.text()).not.toMatch(/\r\n0\r\n/);
    await expectNextToWork();
  });
});

describe('a 401 that waits for a new token', () => {
  const refuse = (fields: string, body = '') => `HTTP/1.1 401 Unauthorized\r\n${fields}\r\n\r\n${body}`;
  const large = `${'no '.repeat(HALF / 4)}END`;

  const enough = `Content-Length: ${HALF * 2}`; // too much to be kept for a second time

  const beginUpload = async () => {
    const begun = await raw.begin(`POST ${PATH}`, [enough], `${'u'.repeat(HALF * 2 - 3)}END`);
    await begun.service.until('END');
    return begun;
  };

  /** Refuses the token, and leaves before there is another one. */
  const refuseAndLeave = async (
    { socket }: RawEnd,
    refusal: string,
    leave: (socket: Socket) => void = (open) => open.end(),
  ) => {
    const taken = raw.service.takeNext();
    socket.write(refusal);
    const tokenEndpoint = await taken;
    await tokenEndpoint.until('refresh_token');
    leave(socket);
    await untilRead();
    tokenEndpoint.socket.write(ok('{"access_token":"a-new-token","expires_in":900}'));
  };

  beforeEach(async () => raw.enter()); // one session renews only once a second

  test.each([
    ['without a body, for the last time', refuse('Content-Length: 0\r\nConnection: close')],
    ['without a body', refuse('Content-Length: 0')],
    ['in no chunks', refuse('Transfer-Encoding: chunked\r\nConnection: close', '0\r\n\r\n')],
    ['until the connection ends', refuse('X-Until: the end')],
    ['with a body', refuse(`Content-Length: ${large.length}\r\nConnection: close`, large)],
    ['that breaks off', refuse('Content-Length: 5\r\nConnection: close')],
  ])('is forgotten once there is one (%s)', async (_framing, refusal) => {
    const { browser, service } = await raw.begin(`GET ${PATH}`);
    await refuseAndLeave(service, refusal);
    expect(await browser.until('next')).toMatch(/^HTTP\/1.1 200 /);
    browser.socket.destroy();
  });

  test.each([
    ['with its length', refuse(`Content-Length: ${large.length}\r\nConnection: close`, large)],
    ['until the connection ends', refuse('X-Until: the end', large)],
  ])('comes whole where the call is not repeated (%s)', async (_framing, refusal) => {
    const { browser, service } = await beginUpload();
    await refuseAndLeave(service, refusal);
    expect(await browser.until('END')).toMatch(/^HTTP\/1.1 401 /);
    expect(browser.text().match(/no /g)).toHaveLength(HALF / 4);
    browser.socket.destroy();
  });

  test.each([
    ['short of its length', 'Content-Length: 5', (socket: Socket) => socket.end()],
    ['by a reset', 'Content-Length: 0', (socket: Socket) => socket.resetAndDestroy()],
  ])(
    'is service_unreachable where it breaks off %s and the call is not repeated',
    async (_how, fields, leave) => {
      const { browser, service } = await beginUpload();
      await refuseAndLeave(service, refuse(`${fields}\r\nConnection: close`), leave);
      expect(await browser.until('}')).toMatch(/^HTTP\/1.1 502 [\s\S]*"service_unreachable"/);
      browser.socket.destroy();
    },
  );
});
