import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { API_PATH as PATH, CHUNKED, MIB } from '../../support/constants.ts';
import { eventually } from '../../support/eventually.ts';
import { openConnection } from '../../support/raw-client.ts';
import type { RawEnd } from '../../support/raw-client.ts';
import { startRawApp } from '../../support/raw-app.ts';
import type { RawApp } from '../../support/raw-app.ts';
import { ok } from '../../support/raw-service.ts';

let raw: RawApp;
beforeAll(async () => {
  raw = await startRawApp({ SERVICE_CONNECTIONS: '1' });
});
afterAll(async () => raw[Symbol.asyncDispose]());

/** The service hears of a longer body once this much has arrived. */
const START = 'x'.repeat(64 * 1024);

/** That the one connection to the service is free, and nothing of the last call is on it. */
async function expectNextToWork(): Promise<void> {
  raw.service.answer = () => ok('next');
  expect((await raw.send(`GET ${PATH}`)).rest.toString()).toBe('next');
}

describe.each([
  ['closes its connection', (browser: RawEnd) => browser.socket.end()],
  ['resets its connection', (browser: RawEnd) => browser.socket.resetAndDestroy()],
])('a browser that %s', (_how, leave) => {
  test('before the answer cancels the call of the service', async () => {
    const { browser, service } = await raw.begin(`GET ${PATH}`);
    leave(browser);
    await service.over;
    await expectNextToWork();
  });

  test.each([CHUNKED, 'Content-Length: 10', 'X-Until: the end'])(
    'in the middle of the answer cancels the call of the service (%s)',
    async (framing) => {
      const { browser, service } = await raw.begin(`GET ${PATH}`);
      service.socket.write(`HTTP/1.1 200 OK\r\n${framing}\r\n\r\n3\r\nhal\r\n`);
      await browser.until('hal');
      leave(browser);
      await service.over;
      await expectNextToWork();
    },
  );

  test.each([
    [CHUNKED, `10000\r\n${START}\r\n4\r\nhalf\r\n`],
    ['Content-Length: 100000', `${START}half`],
  ])('in the middle of its upload cancels the call of the service (%s)', async (framing, half) => {
    const { browser, service } = await raw.begin(`POST ${PATH}`, [framing], half);
    await service.until('half');
    leave(browser);
    await service.over;
    expect(service.text()).not.toMatch(/\r\n0\r\n/); // half an upload never looks whole
    await expectNextToWork();
  });

  test('while it waits for a connection to the service never gets there', async () => {
    const { browser: first, service } = await raw.begin(`GET ${PATH}/first`);
    const second = await openConnection(raw.testApp.config.port);
    second.socket.write(raw.head(`GET ${PATH}/second`));
    const logged = () => raw.testApp.logged.filter((line) => line.includes(`${PATH}/second`)).length;
    const before = logged();
    leave(second);
    await eventually(async () => logged() > before);
    service.socket.write(ok('one'));
    await first.until('one');
    first.socket.destroy();
    service.socket.destroy();
    raw.service.requests.length = 0;
    await expectNextToWork();
    expect(raw.service.requests.map(({ start }) => start)).toEqual([`GET ${PATH} HTTP/1.1`]);
  });
});

describe.each([
  ['closes its connection', (service: RawEnd) => service.socket.end()],
  ['resets its connection', (service: RawEnd) => service.socket.resetAndDestroy()],
])('a service that %s', (_how, leave) => {
  test.each([
    ['in the middle of a chunk', `${CHUNKED}\r\n\r\n9\r\nhalf`],
    ['between chunks', `${CHUNKED}\r\n\r\n4\r\nhalf\r\n`],
    ['before the last empty line', `${CHUNKED}\r\n\r\n4\r\nhalf\r\n0\r\n`],
    ['short of its length', 'Content-Length: 9\r\n\r\nhalf'],
  ])('%s cuts the browser off', async (_where, begun) => {
    const path = `${PATH}/${randomUUID()}`;
    const { browser, service } = await raw.begin(`GET ${path}`);
    service.socket.write(`HTTP/1.1 200 OK\r\n${begun}`);
    await browser.until('half');
    leave(service);
    await browser.over;
    expect(browser.text()).not.toMatch(/\r\n0\r\n/);
    const line = () => raw.testApp.logged.find((each) => each.includes(path));
    await eventually(async () => line() !== undefined);
    expect(line()).toContain('"cutOff":true');
    await expectNextToWork();
  });

  test('in the middle of an answer cuts off a browser that knows no chunks, so that it can tell', async () => {
    const taken = raw.service.takeNext();
    const browser = await openConnection(raw.testApp.config.port);
    browser.socket.write(
      raw.head(`GET ${PATH}`).toString('latin1').replace('HTTP/1.1', 'HTTP/1.0'),
      'latin1',
    );
    const service = await taken;
    service.socket.write(`HTTP/1.1 200 OK\r\n${CHUNKED}\r\n\r\n4\r\nhalf\r\n`);
    await browser.until('half');
    leave(service);
    expect(await browser.over).toBe('ECONNRESET');
    await expectNextToWork();
  });

  test('in the middle of an upload is service_unreachable', async () => {
    const { browser, service } = await raw.begin(`POST ${PATH}`, [`Content-Length: ${20 * MIB}`], START);
    leave(service);
    expect(await browser.until('}')).toMatch(/^HTTP\/1.1 502 [\s\S]*"service_unreachable"/);
    browser.socket.destroy();
    await expectNextToWork();
  });
});

test('a service that resets its connection cuts the browser off, too, where the end of it would have been the end of the answer', async () => {
  const { browser, service } = await raw.begin(`GET ${PATH}`);
  service.socket.write('HTTP/1.1 200 OK\r\n\r\nhalf');
  await browser.until('half');
  service.socket.resetAndDestroy();
  await browser.over;
  expect(browser.text()).not.toMatch(/\r\n0\r\n/);
  await expectNextToWork();
});
