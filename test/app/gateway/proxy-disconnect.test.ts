import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { API_PATH as PATH, CHUNKED, MIB } from '../../support/constants.ts';
import { eventually } from '../../support/eventually.ts';
import { openConnection, type RawConnection } from '../../support/raw-client.ts';
import { startRawApp } from '../../support/raw-app.ts';
import { ok } from '../../support/raw-service.ts';
import { eventLoopTurns } from '../../support/event-loop.ts';
import { useFixture } from '../../support/fixtures.ts';

const raw = useFixture(async () => startRawApp({ SERVICE_CONNECTIONS: '1' }));
beforeEach(() => {
  for (const socket of raw.service.sockets) socket.destroy(); // connections from earlier tests
  raw.service.respond = () => ok('next');
});

/** The first part of a long body. Once this part has arrived, the gateway starts the upstream request. */
const START = 'x'.repeat(64 * 1024);
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;

/** Expects the next request to use the only connection to the service and to get its own response. */
async function expectNextToWork(): Promise<void> {
  expect((await raw.send(`GET ${PATH}`)).rest.toString()).toBe('next');
}

describe.each([
  ['closes its connection', (browser: RawConnection) => browser.socket.end()],
  ['resets its connection', (browser: RawConnection) => browser.socket.resetAndDestroy()],
])('a client that %s', (_how, disconnect) => {
  test('before the response aborts the upstream request', async () => {
    const { browser, service } = await raw.begin(`GET ${PATH}`);
    disconnect(browser);
    await service.closed;
    await expectNextToWork();
  });

  test.each([CHUNKED, 'Content-Length: 10', 'X-Until: the end'])(
    'in the middle of the response aborts the upstream request (%s)',
    async (framing) => {
      const { browser, service } = await raw.begin(`GET ${PATH}`);
      service.socket.write(`HTTP/1.1 200 OK\r\n${framing}\r\n\r\n3\r\nhal\r\n`);
      await browser.until('hal');
      disconnect(browser);
      await service.closed;
      await expectNextToWork();
    },
  );

  test.each([
    [CHUNKED, chunk(START) + chunk('half')],
    ['Content-Length: 100000', `${START}half`],
  ])('in the middle of its upload aborts the upstream request (%s)', async (framing, half) => {
    const { browser, service } = await raw.begin(`POST ${PATH}`, [framing], half);
    await service.until('half');
    disconnect(browser);
    await service.closed;
    expect(service.text()).not.toMatch(/\r\n0\r\n/); // a partial upload must not look complete
    await expectNextToWork();
  });

  test('while its request is waiting for a connection cancels that request', async () => {
    const { browser: first, service } = await raw.begin(`GET ${PATH}/first`);
    const second = await openConnection(raw.testApp.config.port);
    second.socket.write(raw.head(`GET ${PATH}/second`));
    const logged = () => raw.testApp.logged.filter((line) => line.includes(`${PATH}/second`)).length;
    const before = logged();
    disconnect(second);
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
  ['closes its connection', (service: RawConnection) => service.socket.end()],
  ['resets its connection', (service: RawConnection) => service.socket.resetAndDestroy()],
])('a service that %s', (_how, disconnect) => {
  test.each([
    ['in the middle of a chunk', `${CHUNKED}\r\n\r\n9\r\nhalf`],
    ['between chunks', `${CHUNKED}\r\n\r\n4\r\nhalf\r\n`],
    ['before the final empty line', `${CHUNKED}\r\n\r\n4\r\nhalf\r\n0\r\n`],
    ['before it has sent its full Content-Length', 'Content-Length: 9\r\n\r\nhalf'],
  ])('%s makes the gateway abort its response', async (_where, begun) => {
    const path = `${PATH}/${randomUUID()}`;
    const { browser, service } = await raw.begin(`GET ${path}`);
    service.socket.write(`HTTP/1.1 200 OK\r\n${begun}`);
    await browser.until('half');
    disconnect(service);
    await browser.closed;
    expect(browser.text()).not.toMatch(/\r\n0\r\n/);
    const line = () => raw.testApp.logged.find((each) => each.includes(path));
    await eventually(async () => line() !== undefined);
    expect(line()).toContain('"cutOff":true');
    await expectNextToWork();
  });

  test('in the middle of a response makes the gateway reset the connection of an HTTP/1.0 client', async () => {
    const taken = raw.service.takeNextConnection();
    const browser = await openConnection(raw.testApp.config.port);
    browser.socket.write(raw.head(`GET ${PATH}`).toString().replace('HTTP/1.1', 'HTTP/1.0'));
    const service = await taken;
    service.socket.write(`HTTP/1.1 200 OK\r\n${CHUNKED}\r\n\r\n4\r\nhalf\r\n`);
    await browser.until('half');
    disconnect(service);
    expect(await browser.closed).toBe('ECONNRESET');
    await expectNextToWork();
  });

  test('in the middle of an upload causes service_unreachable', async () => {
    const { browser, service } = await raw.begin(`POST ${PATH}`, [`Content-Length: ${20 * MIB}`], START);
    disconnect(service);
    expect(await browser.until('}')).toMatch(/^HTTP\/1.1 502 [\s\S]*"service_unreachable"/);
    browser.socket.destroy();
    await expectNextToWork();
  });
});

test('the gateway aborts a close-delimited response if the service resets the connection', async () => {
  const { browser, service } = await raw.begin(`GET ${PATH}`);
  service.socket.write('HTTP/1.1 200 OK\r\n\r\nhalf');
  await browser.until('half');
  service.socket.resetAndDestroy();
  await browser.closed;
  expect(browser.text()).not.toMatch(/\r\n0\r\n/);
  await expectNextToWork();
});

const HALF = 40 * 1024;

describe('a 401 that the gateway holds during a refresh', () => {
  const refusal = (fields: string, body = '') => `HTTP/1.1 401 Unauthorized\r\n${fields}\r\n\r\n${body}`;
  const large = `${'no '.repeat(HALF / 4)}END`;
  const REFRESHED = ok('{"access_token":"a-new-token","expires_in":900}');

  /** Starts an upload that is too large to be repeated. */
  const beginUpload = async () => {
    const begun = await raw.begin(
      `POST ${PATH}`,
      [`Content-Length: ${HALF * 2}`],
      `${'u'.repeat(HALF * 2 - 3)}END`,
    );
    await begun.service.until('END');
    return begun;
  };

  /** Responds with a 401. Returns the connection of the pending token request. */
  const refuse = async ({ socket }: RawConnection, response: string): Promise<RawConnection> => {
    const taken = raw.service.takeNextConnection();
    socket.write(response);
    const tokenEndpoint = await taken;
    await tokenEndpoint.until('refresh_token');
    return tokenEndpoint;
  };

  /** Responds with a 401 and closes the connection before the token endpoint responds. */
  const refuseAndClose = async (
    service: RawConnection,
    response: string,
    disconnect = (socket: Socket): unknown => socket.end(),
  ) => {
    const tokenEndpoint = await refuse(service, response);
    disconnect(service.socket);
    await eventLoopTurns(10); // by now, the gateway has seen the connection close
    tokenEndpoint.socket.write(REFRESHED);
  };

  beforeEach(async () => raw.createSession()); // a token less than 30 s old is not refreshed

  test.each([
    ['without a body, on a closing connection', refusal('Content-Length: 0\r\nConnection: close')],
    ['without a body', refusal('Content-Length: 0')],
    ['without data chunks', refusal('Transfer-Encoding: chunked\r\nConnection: close', '0\r\n\r\n')],
    ['delimited by the connection close', refusal('X-Until: the end')],
    ['with a body', refusal(`Content-Length: ${large.length}\r\nConnection: close`, large)],
    ['shorter than its Content-Length', refusal('Content-Length: 5\r\nConnection: close')],
  ])('is dropped after a refresh, even if the connection closes (%s)', async (_framing, response) => {
    const { browser, service } = await raw.begin(`GET ${PATH}`);
    await refuseAndClose(service, response);
    expect(await browser.until('next')).toMatch(/^HTTP\/1.1 200 /);
    browser.socket.destroy();
  });

  const WHOLE = new RegExp(`^HTTP/1.1 401 [^]*(?:no ){${HALF / 4}}END`);
  const UNREACHABLE = /^HTTP\/1.1 502 [^]*"service_unreachable"[^]*\}/;

  test.each([
    [
      'with a Content-Length',
      `Content-Length: ${large.length}`,
      large,
      (socket: Socket) => socket.end(),
      WHOLE,
    ],
    ['delimited by the connection close', 'X-Until: the end', large, (socket: Socket) => socket.end(), WHOLE],
    [
      'shorter than its Content-Length',
      'Content-Length: 5',
      '',
      (socket: Socket) => socket.end(),
      UNREACHABLE,
    ],
    [
      'cut off by a reset',
      'Content-Length: 0',
      '',
      (socket: Socket) => socket.resetAndDestroy(),
      UNREACHABLE,
    ],
  ])('reaches the client in full or not at all if the request is not repeated (%s)', async (...row) => {
    const [, fields, body, disconnect, response] = row;
    const { browser, service } = await beginUpload();
    await refuseAndClose(service, refusal(`${fields}\r\nConnection: close`, body), disconnect);
    expect(await browser.until(response)).toMatch(response);
    browser.socket.destroy();
  });

  test('is not followed by a second request if the client has disconnected, even though the token is refreshed', async () => {
    const { browser, service } = await raw.begin(`GET ${PATH}`);
    const tokenEndpoint = await refuse(service, refusal('Content-Length: 0'));
    browser.socket.destroy();
    await service.closed;
    raw.service.requests.length = 0;
    raw.testApp.logged.length = 0;
    tokenEndpoint.socket.write(REFRESHED);
    await eventually(async () => raw.testApp.logged.join('').includes('token refreshed'));
    await expectNextToWork();
    expect(raw.service.requests).toHaveLength(1);
  });
});
