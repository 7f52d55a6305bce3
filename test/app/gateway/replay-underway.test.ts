import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { API_PATH as PATH } from '../../support/constants.ts';
import type { RawEnd } from '../../support/raw-client.ts';
import { startRawApp } from '../../support/raw-app.ts';
import type { RawApp } from '../../support/raw-app.ts';
import { ok } from '../../support/raw-service.ts';

// A service that answers 401 while the body of the call is still on its way.

/** The service hears of a longer body once this much has arrived. */
const START = 'x'.repeat(64 * 1024);
const LARGE = 20 * 1024 * 1024;
const REFUSED = 'HTTP/1.1 401 Unauthorized\r\nX-First: 1\r\nContent-Length: 17\r\n';

let raw: RawApp;
beforeAll(async () => {
  raw = await startRawApp();
  raw.service.answer = ({ start, body }) =>
    start.includes('/oauth2/token')
      ? ok('{"access_token":"a-new-token","expires_in":900}')
      : ok(`again: ${body.toString()}`);
});
afterAll(async () => raw[Symbol.asyncDispose]());
beforeEach(async () => {
  raw.service.requests.length = 0;
  await raw.enter();
});

const refuse = {
  'and reads on': ({ socket }: RawEnd) => socket.write(`${REFUSED}\r\nthe first refusal`),
  'and closes': ({ socket }: RawEnd) => socket.end(`${REFUSED}Connection: close\r\n\r\nthe first refusal`),
};

describe.each(['and reads on', 'and closes'] as const)(
  'a service that refuses the token at once, %s:',
  (how) => {
    test('a large body is not waited for, and the 401 passed on', async () => {
      const { browser, service } = await raw.begin(`POST ${PATH}`, [`Content-Length: ${LARGE}`], START);
      await service.until(START);
      refuse[how](service);
      browser.socket.write(Buffer.alloc(64 * 1024));
      expect(await browser.until('the first refusal')).toMatch(/^HTTP\/1.1 401 /);
      browser.socket.destroy();
      service.socket.destroy();
    });
  },
);

test('a body that says that it is large is not waited for at all', async () => {
  const { browser, service } = await raw.begin(`POST ${PATH}`, [`Content-Length: ${LARGE}`], START);
  await service.until(START);
  refuse['and reads on'](service);
  expect(await browser.until('the first refusal')).toMatch(/^HTTP\/1.1 401 /);
  browser.socket.destroy();
  service.socket.destroy();
});
