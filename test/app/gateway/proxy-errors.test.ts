import { beforeEach, describe, expect, test } from '@jest/globals';
import { expectProblem, type ExpectedProblem } from '../../support/problem-responses.ts';
import { API_PATH as PATH } from '../../support/constants.ts';
import { eventually } from '../../support/eventually.ts';
import type { RawConnection } from '../../support/raw-client.ts';
import { startRawApp } from '../../support/raw-app.ts';
import type { RawMessage } from '../../support/raw-message.ts';
import { ok } from '../../support/raw-service.ts';
import { useFixture } from '../../support/fixtures.ts';

// These tests cover faulty responses from a service that accepts connections.

const raw = useFixture(async () => startRawApp({ SERVICE_CONNECTIONS: '1' }));
/** An app for the timeout tests. On a busy machine, the other tests may need more than a second. */
const shortTimeoutApp = useFixture(async () =>
  startRawApp({ SERVICE_CONNECTIONS: '1', SERVICE_TIMEOUT_SECONDS: '1' }),
);
beforeEach(() => {
  raw.service.respond = () => ok();
  shortTimeoutApp.service.respond = () => ok();
});

const UNREACHABLE = { status: 502, code: 'service_unreachable' };
const TIMEOUT = { status: 504, code: 'service_timeout' };
const OK = 'HTTP/1.1 200 OK\r\n';
const TWO_LENGTHS = 'Content-Length: 1\r\nContent-Length: 2';

/** In Jest, the logger does not recognise Node's own errors, so proxy-unreachable.test.ts tests how they are logged. */
const ANY = /./;

/** Expects a problem in the response and its cause in the log. */
async function expectResponse(response: RawMessage, cause: ExpectedProblem, at = raw): Promise<void> {
  const headers = Object.fromEntries(response.fields.map(([name, value]) => [name.toLowerCase(), value]));
  const own = { status: Number(response.start.slice(9, 12)), headers, body: response.rest.toString() };
  await expectProblem(own, () => at.testApp.logged, cause);
}

/** Sends a request and calls `respond` once the service has received the request head. */
async function sendWhile(respond: (service: RawConnection) => void, at = raw) {
  const taken = at.service.takeNextConnection().then((service) => {
    respond(service);
    return service;
  });
  const message = await at.send(`GET ${PATH}`);
  (await taken).socket.destroy();
  return message;
}

describe('service_unreachable means a service that', () => {
  test.each<[string, string | null, 'end' | 'reset', RegExp]>([
    ['resets the connection before its response', null, 'reset', ANY],
    ['closes the connection before its response', null, 'end', /UND_ERR_SOCKET/],
    ['resets the connection in the middle of its response head', `${OK}X-One`, 'reset', ANY],
    ['closes the connection in the middle of its response head', `${OK}X-One`, 'end', /UND_ERR_SOCKET/],
    ['speaks another protocol', 'SSH-2.0-OpenSSH\r\n', 'end', /does not match the HTTP/],
    ['responds in HTTP/2', '\0\0\u0012\u0004\0\0\0\0\0', 'end', /does not match the HTTP/],
    ['sends a first line without a status', 'HTTP/1.1 OK\r\n\r\n', 'end', /does not match the HTTP/],
    ['sends a field without a name', `${OK}: x\r\n\r\n`, 'end', /does not match the HTTP/],
    [
      'sends two different Content-Lengths',
      `${OK}${TWO_LENGTHS}\r\n\r\nab`,
      'end',
      /LENGTH_MISMATCH|does not match the HTTP/,
    ],
    ['sends a head of 20 KB', `${OK}X-Long: ${'v'.repeat(20_000)}\r\n\r\n`, 'end', /HEADERS_OVERFLOW/],
    ['switches protocols without being asked to', 'HTTP/1.1 101 Switch\r\nUpgrade: x\r\n\r\n', 'end', ANY],
  ])('%s', async (_what, bytes, end, logged) => {
    const response = await sendWhile(({ socket }) => {
      const disconnect = () => (end === 'end' ? socket.end() : socket.resetAndDestroy());
      if (bytes === null) disconnect();
      else socket.write(bytes, 'latin1', disconnect);
    });
    await expectResponse(response, { ...UNREACHABLE, logged });
    expect((await raw.send(`GET ${PATH}`)).start).toBe('HTTP/1.1 200 OK');
  });
});

describe('service_timeout means', () => {
  test.each([
    ['accepts the request and sends nothing', ''],
    ['never completes its response head', `${OK}X-One: 1\r\n`],
  ])('a service that %s', async (_what, begun) => {
    const response = await sendWhile(({ socket }) => socket.write(begun), shortTimeoutApp);
    const logged = /no response in time|UND_ERR_HEADERS_TIMEOUT/;
    await expectResponse(response, { ...TIMEOUT, logged }, shortTimeoutApp);
  });

  test('that no connection becomes free in time', async () => {
    const { browser, service } = await shortTimeoutApp.begin(`GET ${PATH}`);
    service.socket.write(`${OK}Connection: close\r\n\r\n`);
    const drip = setInterval(() => service.socket.write('.'), 200);
    service.socket.once('close', () => clearInterval(drip));
    const response = await shortTimeoutApp.send(`POST ${PATH}`, ['Content-Length: 3'], 'tea');
    service.socket.write('the other response goes on');
    await browser.until('the other response goes on');
    browser.socket.destroy();
    await service.closed;
    await expectResponse(response, { ...TIMEOUT, logged: /no connection in time/ }, shortTimeoutApp);
  });
});

test('the gateway aborts a response if the service stops sending', async () => {
  const { browser, service } = await shortTimeoutApp.begin(`GET ${PATH}/silent`);
  service.socket.write(`${OK}Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n`);
  await browser.until('half');
  await browser.closed;
  expect(browser.text()).not.toMatch(/\r\n0\r\n/);
  await service.closed;
  const line = () => shortTimeoutApp.testApp.logged.find((each) => each.includes(`${PATH}/silent`));
  await eventually(async () => line() !== undefined);
  expect(line()).toContain('"cutOff":true');
});
