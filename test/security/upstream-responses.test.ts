import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { CHUNKED } from '../support/constants.ts';
import { createDeferred } from '../../src/promises.ts';
import { eventLoopTurns } from '../support/event-loop.ts';
import { useFixture } from '../support/fixtures.ts';
import { openConnection } from '../support/raw-client.ts';
import { valuesOf } from '../support/raw-message.ts';
import { ok, response, startRawService, type RawRequest, type RawService } from '../support/raw-service.ts';
import { startTestApp } from '../support/test-app.ts';
import { requestText, send, statusesOf } from './request-text.ts';

const service = useFixture(startRawService);
// Because only one connection is allowed, the next request has to use the attacked connection.
const testApp = useFixture(async () =>
  startTestApp({ SERVICE_URL: service.origin, SERVICE_CONNECTIONS: '1' }),
);
beforeEach(() => {
  service.requests.length = 0;
});

/** Sends a request in a new session. Resolves with the raw response. */
async function responseTo(name: string, method = 'GET'): Promise<string> {
  const { cookie } = await testApp.createSession();
  return send(testApp, { method, target: `/api/public/v1/${name}`, cookie });
}

/** Returns the last segment of the request path. */
const nameOf = ({ start }: RawRequest) => /\/v1\/(\S*) /.exec(start)?.[1] ?? '';

const respondByName: RawService['respond'] = (request) => ok(`for ${nameOf(request)}`);

/** Makes the service respond to the request named `a` with these bytes, and to any other request with `for <name>`. */
function respondToFirstWith(bytes: string | Buffer): void {
  service.respond = (request, socket) => (nameOf(request) === 'a' ? bytes : respondByName(request, socket));
}

describe('an unexpected second response never reaches a client', () => {
  test('CVE-2026-6733 undici: an idle connection accepts a response', async () => {
    let tampered = Promise.resolve<unknown>(undefined);
    service.respond = (request, socket) => {
      if (nameOf(request) === 'a') {
        tampered = once(socket, 'close');
        void delay(20).then(() => socket.write(ok('stolen')));
      }
      return respondByName(request, socket);
    };
    expect(await responseTo('a')).toMatch(/for a$/);
    await tampered; // the gateway closes the connection immediately, not at the next request
    expect(await responseTo('b')).toMatch(/for b$/);
    expect(new Set(service.requests.map(({ connection }) => connection)).size).toBe(2);
  });

  test('CVE-2026-48931 Node.js: a second response arrives with the first', async () => {
    const received = createDeferred<() => void>();
    service.respond = (request, socket) => {
      if (nameOf(request) !== 'a') return respondByName(request, socket);
      received.resolve(() => socket.write(ok('for a') + ok('stolen')));
      return null;
    };
    const first = responseTo('a');
    const respond = await received.promise;
    const others = [responseTo('b'), responseTo('c')];
    await delay(50); // give both requests time to queue for the connection; a test can't observe the queue
    respond();
    expect(await first).toMatch(/for a$/);
    expect((await Promise.all(others)).map((text) => text.slice(-5))).toEqual(['for b', 'for c']);
  });

  test('aiohttp#13656 aiohttp: a second response follows the Content-Length', async () => {
    respondToFirstWith('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfor a' + ok('stolen'));
    expect(await responseTo('a')).toMatch(/for a$/);
    expect(await responseTo('b')).toMatch(/for b$/);
  });
});

describe('an ambiguous response results in service_unreachable and a closed connection', () => {
  const LENGTH = 'Content-Length: 5';
  const cases: [flaw: string, fields: string[], body?: string][] = [
    [
      'CVE-2019-20445 Netty: Content-Length with Transfer-Encoding is accepted',
      [LENGTH, CHUNKED],
      '5\r\nhello\r\n0\r\n\r\n',
    ],
    ['CVE-2019-20444 Netty: a field without a colon is accepted', ['Content-Length', LENGTH]],
    ['CVE-2019-16869 Netty: a space before the colon is accepted', ['Transfer-Encoding : chunked', LENGTH]],
    ['CVE-2023-47627 aiohttp: a Content-Length with a sign is accepted', ['Content-Length: +5']],
    ['CVE-2022-37436 Apache httpd: a malformed field truncates the head', ['X-A: b\0c', LENGTH]],
    ['CVE-2023-38709 Apache httpd: a bare LF splits the response', ['X-A: b\nSet-Cookie: a=b', LENGTH]],
    ['CVE-2024-24795 Apache httpd: a bare CR splits the response', ['X-A: b\rSet-Cookie: a=b', LENGTH]],
    ['CVE-2023-38039 curl: large heads exhaust memory', [`X-A: ${'a'.repeat(65_536)}`, LENGTH]],
  ];

  test.each(cases)('%s', async (_flaw, fields, body = 'hello') => {
    respondToFirstWith(`HTTP/1.1 200 OK\r\n${fields.join('\r\n')}\r\n\r\n${body}${ok('stolen')}`);
    const text = await responseTo('a');
    expect(statusesOf(text)).toEqual([502]);
    expect(text).toContain('"service_unreachable"');
    expect(await responseTo('b')).toMatch(/for b$/);
    expect(new Set(service.requests.map(({ connection }) => connection)).size).toBe(2);
  });
});

test('undici#5360 undici: a disconnect during a paused response crashes the process', async () => {
  const refused = response(401, '', 'Connection: close');
  service.respond = (request, socket) => {
    // The gateway holds back the 401 until the token endpoint responds. By then, the service has closed the connection.
    if (request.start.includes('/oauth2/token'))
      void eventLoopTurns(10).then(() => socket.end(response(500)));
    else if (nameOf(request) === 'a') socket.end(refused);
    else return respondByName(request, socket);
    return null;
  };
  expect(statusesOf(await responseTo('a'))).toEqual([503]);
  expect(await responseTo('b')).toMatch(/for b$/);
});

test('CVE-2019-17567 Apache httpd: requests after a refused upgrade bypass checks', async () => {
  const { cookie } = await testApp.createSession();
  respondToFirstWith(ok('for a'));
  const client = await openConnection(testApp.config.port);
  client.socket.allowHalfOpen = true;
  const fields = ['Connection: Upgrade', 'Upgrade: websocket'];
  const behind = requestText({ target: '/api/public/v1/b', cookie });
  client.socket.write(requestText({ target: '/api/public/v1/a', cookie, fields }) + behind);
  await once(client.socket, 'end');
  expect(statusesOf(client.text())).toEqual([200]);
  expect(client.text()).toMatch(/\r\nconnection: close\r\n/i);
  client.socket.end(behind);
  await client.closed;
  expect(service.requests).toHaveLength(1);
});

test('CVE-2022-0711 HAProxy: Set-Cookie2 causes an endless loop', async () => {
  respondToFirstWith(ok('for a', 'Set-Cookie: hostile=1', 'Set-Cookie2: hostile=2'));
  const text = await responseTo('a');
  expect(text).toMatch(/for a$/);
  expect(text).not.toContain('hostile');
});

test('CVE-2026-22036 undici: long encoding chains are decoded', async () => {
  const chain = Array.from({ length: 1_000 }, () => 'gzip').join(', ');
  respondToFirstWith(ok('for a', `Content-Encoding: ${chain}`));
  const text = await responseTo('a');
  expect(text).toContain(chain);
  expect(text).toMatch(/for a$/);
});

test('CVE-2026-2581 undici: identical requests share one response', async () => {
  service.respond = () => ok('for a');
  await Promise.all([responseTo('a'), responseTo('a'), responseTo('a')]);
  expect(service.requests).toHaveLength(3);
});

test('CVE-2026-13697 undici: one user’s response is cached for another', async () => {
  service.respond = () => ok('for a', 'Cache-Control: public, max-age=600, private="x');
  await responseTo('a');
  await responseTo('a');
  expect(service.requests).toHaveLength(2);
});

describe('the gateway does not follow a redirect to another host', () => {
  const cases: [flaw: string, method: string, status: number][] = [
    ['CVE-2022-31151 undici: cookies follow a redirect', 'GET', 302],
    ['CVE-2023-45143 undici: cookies follow a fetch redirect', 'GET', 307],
    ['CVE-2024-24758 undici: Proxy-Authorization follows a redirect', 'POST', 303],
    ['CVE-2024-30260 undici: Authorization follows a redirect', 'POST', 308],
  ];

  test.each(cases)('%s', async (_flaw, method, status) => {
    await using elsewhere = await startRawService();
    respondToFirstWith(response(status, '', `Location: ${elsewhere.origin}/`));
    expect(statusesOf(await responseTo('a', method))).toEqual([status]);
    expect(elsewhere.openedConnections()).toBe(0);
    expect(service.requests).toHaveLength(1);
    expect(service.requests.flatMap((request) => valuesOf(request, 'cookie'))).toEqual([]);
  });
});
