import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { CHUNKED } from '../support/constants.ts';
import { useFixture } from '../support/fixtures.ts';
import { startTestApp } from '../support/test-app.ts';
import { valuesOf } from '../support/raw-message.ts';
import { ok, response, startRawService, type RawRequest, type RawService } from '../support/raw-service.ts';
import { sendRaw } from '../support/raw.ts';
import { eventLoopTurns } from '../support/event-loop.ts';
import { requestText, statusesOf } from './request-text.ts';

const service = useFixture(startRawService);
// With one connection, the next request uses the connection that was tampered with.
const testApp = useFixture(async () =>
  startTestApp({ SERVICE_URL: service.origin, SERVICE_CONNECTIONS: '1' }),
);
beforeEach(() => {
  service.requests.length = 0;
});

/** Sends a request of a new session; gives the whole response as text. */
async function call(name: string, method = 'GET'): Promise<string> {
  const { cookie } = await testApp.createSession();
  const target = `/api/public/v1/${name}`;
  return sendRaw(testApp, requestText({ method, target, fields: [`Cookie: ${cookie}`] }));
}

/** The last segment of a request's path. */
const nameOf = ({ start }: RawRequest) => /\/v1\/(\S*) /.exec(start)?.[1] ?? '';

const answerByName: RawService['answer'] = (request) => ok(`for ${nameOf(request)}`);

/** Answers the call named `a` with these bytes, and each other one by its name. */
function answerFirstWith(bytes: string | Buffer): void {
  service.answer = (request, socket) => (nameOf(request) === 'a' ? bytes : answerByName(request, socket));
}

describe('a second answer that nobody asked for reaches nobody', () => {
  test('CVE-2026-6733 undici: a second response arrives while the connection is idle', async () => {
    let tampered = Promise.resolve<unknown>(undefined);
    service.answer = (request, socket) => {
      if (nameOf(request) === 'a') {
        tampered = once(socket, 'close');
        void delay(20).then(() => socket.write(ok('stolen')));
      }
      return answerByName(request, socket);
    };
    expect(await call('a')).toMatch(/for a$/);
    await tampered; // taken out of use at once, not with the next call
    expect(await call('b')).toMatch(/for b$/);
    expect(new Set(service.requests.map(({ connection }) => connection)).size).toBe(2);
  });

  test('CVE-2026-48931 Node.js: a second response arrives with the first one', async () => {
    let begin = () => {};
    const begun = new Promise<void>((resolve) => (begin = resolve));
    let answer = () => {};
    service.answer = (request, socket) => {
      begin();
      if (nameOf(request) !== 'a') return answerByName(request, socket);
      answer = () => socket.write(ok('for a') + ok('stolen'));
      return null;
    };
    const first = call('a');
    await begun;
    const others = [call('b'), call('c')];
    await delay(50); // they wait inside, where nothing tells of it
    answer();
    expect(await first).toMatch(/for a$/);
    expect((await Promise.all(others)).map((text) => text.slice(-5))).toEqual(['for b', 'for c']);
  });

  test('aiohttp#13656 aiohttp: a second response follows the end of Content-Length', async () => {
    answerFirstWith('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfor a' + ok('stolen'));
    expect(await call('a')).toMatch(/for a$/);
    expect(await call('b')).toMatch(/for b$/);
  });
});

describe('an answer that can be read in two ways is service_unreachable, and its connection is closed', () => {
  const head = (...fields: string[]) => `HTTP/1.1 200 OK\r\n${fields.join('\r\n')}\r\n\r\n`;
  const LENGTH = 'Content-Length: 5';
  const cases: [flaw: string, bytes: string][] = [
    [
      'CVE-2019-20445 Netty: Content-Length beside Transfer-Encoding',
      `${head(LENGTH, CHUNKED)}5\r\nhello\r\n0\r\n\r\n`,
    ],
    ['CVE-2019-20444 Netty: a field without a colon', `${head('Content-Length', LENGTH)}hello`],
    ['CVE-2019-16869 Netty: a space before the colon', `${head('Transfer-Encoding : chunked', LENGTH)}hello`],
    ['CVE-2023-47627 aiohttp: a Content-Length with a sign', `${head('Content-Length: +5')}hello`],
    ['CVE-2022-37436 Apache httpd: a field that cuts the head short', `${head('X-A: b\0c', LENGTH)}hello`],
    [
      'CVE-2023-38709 Apache httpd: a bare LF splits the head',
      `${head(`X-A: b\nSet-Cookie: a=b`, LENGTH)}hello`,
    ],
    [
      'CVE-2024-24795 Apache httpd: a bare CR splits the head',
      `${head(`X-A: b\rSet-Cookie: a=b`, LENGTH)}hello`,
    ],
    [
      'CVE-2023-38039 curl: a head of any size fills the memory',
      `${head(`X-A: ${'a'.repeat(65_536)}`, LENGTH)}hello`,
    ],
  ];

  test.each(cases)('%s', async (_flaw, bytes) => {
    answerFirstWith(bytes + ok('stolen'));
    const answer = await call('a');
    expect(statusesOf(answer)).toEqual([502]);
    expect(answer).toContain('"service_unreachable"');
    expect(await call('b')).toMatch(/for b$/);
    expect(new Set(service.requests.map(({ connection }) => connection)).size).toBe(2);
  });
});

test('undici#5360 undici: a connection that ends under a paused response ends the process', async () => {
  const refused = response(401, '', 'Connection: close');
  service.answer = (request, socket) => {
    // The refusal waits for the token endpoint: not before its end has come.
    if (request.start.includes('/oauth2/token'))
      void eventLoopTurns(10).then(() => socket.end(response(500)));
    else if (nameOf(request) === 'a') socket.end(refused);
    else return answerByName(request, socket);
    return null;
  };
  expect(statusesOf(await call('a'))).toEqual([503]);
  expect(await call('b')).toMatch(/for b$/);
});

test('CVE-2019-17567 Apache httpd: after a refused upgrade no request is checked', async () => {
  const { cookie } = await testApp.createSession();
  answerFirstWith(ok('for a'));
  const socket = connect({ port: testApp.config.port, host: '127.0.0.1', allowHalfOpen: true }).setEncoding(
    'latin1',
  );
  const fields = [`Cookie: ${cookie}`, 'Connection: Upgrade', 'Upgrade: websocket'];
  let received = '';
  socket.on('data', (part: string) => (received += part));
  const behind = requestText({ target: '/api/public/v1/b', fields: [`Cookie: ${cookie}`] });
  socket.write(requestText({ target: '/api/public/v1/a', fields }) + behind);
  await once(socket, 'end');
  expect(statusesOf(received)).toEqual([200]);
  expect(received).toMatch(/\r\nconnection: close\r\n/i);
  socket.end(behind);
  await once(socket, 'close');
  expect(service.requests).toHaveLength(1);
});

test('a 304 without Content-Length is whole, and may have one for its 200 (RFC 9110 §8.6)', async () => {
  answerFirstWith('HTTP/1.1 304 Not Modified\r\nETag: "e"\r\nContent-Length: 5\r\n\r\n');
  const answer = await call('a');
  expect(statusesOf(answer)).toEqual([304]);
  expect(answer).toMatch(/\r\netag: "e"\r\n[\s\S]*\r\n\r\n$/i);
});

test('a 204 has no length (RFC 9110 §8.6), whatever the service says', async () => {
  answerFirstWith('HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n');
  const answer = await call('a');
  expect(statusesOf(answer)).toEqual([204]);
  expect(answer).not.toMatch(/\r\ncontent-length:/i);
});

test('CVE-2022-0711 HAProxy: a response with Set-Cookie2 never ends', async () => {
  answerFirstWith(ok('for a', 'Set-Cookie: hostile=1', 'Set-Cookie2: hostile=2'));
  const answer = await call('a');
  expect(answer).toMatch(/for a$/);
  expect(answer).not.toContain('hostile');
});

test('CVE-2026-22036 undici: a long chain of encodings is decoded one by one', async () => {
  const chain = Array.from({ length: 1_000 }, () => 'gzip').join(', ');
  answerFirstWith(ok('for a', `Content-Encoding: ${chain}`));
  const answer = await call('a');
  expect(answer).toContain(chain);
  expect(answer).toMatch(/for a$/);
});

test('CVE-2026-2581 undici: equal requests share one response', async () => {
  service.answer = () => ok('for a');
  await Promise.all([call('a'), call('a'), call('a')]);
  expect(service.requests).toHaveLength(3);
});

test('CVE-2026-13697 undici: a response to one user is stored for another', async () => {
  service.answer = () => ok('for a', 'Cache-Control: public, max-age=600, private="x');
  await call('a');
  await call('a');
  expect(service.requests).toHaveLength(2);
});

describe('a redirect to another host is the browser’s to follow, or not', () => {
  const cases: [flaw: string, method: string, status: number][] = [
    ['CVE-2022-31151 undici: cookies follow a redirect', 'GET', 302],
    ['CVE-2023-45143 undici: cookies follow a redirect of fetch', 'GET', 307],
    ['CVE-2024-24758 undici: Proxy-Authorization follows a redirect', 'POST', 303],
    ['CVE-2024-30260 undici: Authorization follows a redirect', 'POST', 308],
  ];

  test.each(cases)('%s', async (_flaw, method, status) => {
    await using elsewhere = await startRawService();
    answerFirstWith(response(status, '', `Location: ${elsewhere.origin}/`));
    expect(statusesOf(await call('a', method))).toEqual([status]);
    expect(elsewhere.opened()).toBe(0);
    expect(service.requests).toHaveLength(1);
    expect(service.requests.flatMap((request) => valuesOf(request, 'cookie'))).toEqual([]);
  });
});
