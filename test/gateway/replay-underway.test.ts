import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { RawEnd } from '../support/raw-client.ts';
import { startRawHouse, PATH } from '../support/raw-house.ts';
import type { RawHouse } from '../support/raw-house.ts';
import { ok } from '../support/raw-service.ts';

// A service that answers 401 while the body of the call is still on its way.

/** It shows among the times of a call: all else here takes less. */
const PAUSE_MS = 500;
const LARGE = 20 * 1024 * 1024;
const REFUSED = 'HTTP/1.1 401 Unauthorized\r\nX-First: 1\r\nContent-Length: 17\r\n';

let raw: RawHouse;
beforeAll(async () => {
  raw = await startRawHouse();
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

/** Resolves when the gateway has taken the 401 in: it renews the token then. */
async function untilRenewed(): Promise<void> {
  while (raw.service.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
}

describe.each(['and reads on', 'and closes'] as const)(
  'a service that refuses the token at once, %s:',
  (how) => {
    test.each([
      ['with its length', 'Content-Length: 8', 'half', 'half'],
      ['in chunks', 'Transfer-Encoding: chunked', '4\r\nhalf\r\n', '4\r\nhalf\r\n0\r\n\r\n'],
    ])(
      'a small body %s is taken in to its end, and the call repeated',
      async (_framing, field, half, rest) => {
        const beganAt = performance.now();
        const { browser, service } = await raw.begin(`POST ${PATH}`, [field], half);
        await service.until('half');
        refuse[how](service);
        await untilRenewed();
        const pausedAt = performance.now();
        await delay(PAUSE_MS); // as browsers do
        const pauseMs = performance.now() - pausedAt;
        browser.socket.write(rest);
        expect(await browser.until(/\r\n\r\n[\s\S]*\w/)).toMatch(/^HTTP\/1.1 200 OK[\s\S]*again: halfhalf$/);
        expect(browser.text()).not.toMatch(/first/i);
        // The time until the rest came is the browser's, not the service's: that has at most what else the call took.
        const restMs = performance.now() - beganAt - pauseMs;
        const serviceMs = Number(/service;dur=([\d.]+)/.exec(browser.text())?.[1]);
        expect(serviceMs).toBeLessThan(restMs + 1); // it is told to a tenth
        browser.socket.destroy();
        service.socket.destroy();
      },
    );

    test('a large body is not waited for, and the 401 passed on', async () => {
      const { browser, service } = await raw.begin(`POST ${PATH}`, [`Content-Length: ${LARGE}`], 'half');
      await service.until('half');
      refuse[how](service);
      browser.socket.write(Buffer.alloc(64 * 1024));
      expect(await browser.until('the first refusal')).toMatch(/^HTTP\/1.1 401 /);
      browser.socket.destroy();
      service.socket.destroy();
    });
  },
);

test('a body that says that it is large is not waited for at all', async () => {
  const { browser, service } = await raw.begin(`POST ${PATH}`, [`Content-Length: ${LARGE}`], 'half');
  await service.until('half');
  refuse['and reads on'](service);
  expect(await browser.until('the first refusal')).toMatch(/^HTTP\/1.1 401 /);
  browser.socket.destroy();
  service.socket.destroy();
});
