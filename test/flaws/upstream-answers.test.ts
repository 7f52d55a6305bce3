import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { startHouse } from '../support/house.ts';
import type { House } from '../support/house.ts';
import { sendRaw } from '../support/raw.ts';
import { turns } from '../support/turns.ts';
import { startRawService, whole } from './raw-service.ts';
import type { RawService } from './raw-service.ts';
import { requestText, statusesOf } from './request-text.ts';

let house: House;
let service: RawService;
beforeAll(async () => {
  service = await startRawService();
  // One connection, so that whoever calls next gets the one that was tampered with.
  house = await startHouse({ SERVICE_URL: service.url, SERVICE_CONNECTIONS: '1' });
});
afterAll(async () => {
  await house[Symbol.asyncDispose]();
  await service[Symbol.asyncDispose]();
});
beforeEach(() => {
  service.calls.length = 0;
});

/** A call by somebody else each time; gives the whole answer as text. */
async function call(name: string, method = 'GET'): Promise<string> {
  const { cookie } = await house.enter();
  const target = `/api/public/v1/${name}`;
  return sendRaw(house, requestText({ method, target, fields: [`Cookie: ${cookie}`] }));
}

const nameOf = (head: string) => /\/v1\/(\S*) /.exec(head)?.[1] ?? '';

/** Answers the call named `a` with these bytes, and each other one by its name. */
function answerFirstWith(bytes: string, thenEnd = false): void {
  service.answer = (socket, head) => {
    if (nameOf(head) !== 'a') socket.write(whole(`for ${nameOf(head)}`));
    else {
      socket.write(bytes, 'latin1');
      if (thenEnd) socket.end();
    }
  };
}

describe('a second answer that nobody asked for reaches nobody', () => {
  test('CVE-2026-6733 undici: it comes while the connection is idle', async () => {
    let tampered = Promise.resolve<unknown>(undefined);
    service.answer = (socket, head) => {
      socket.write(whole(`for ${nameOf(head)}`));
      if (nameOf(head) !== 'a') return;
      tampered = once(socket, 'close');
      void delay(20).then(() => socket.write(whole('stolen')));
    };
    expect(await call('a')).toMatch(/for a$/);
    await tampered; // taken out of use at once, not with the next call
    expect(await call('b')).toMatch(/for b$/);
    expect(new Set(service.calls.map(({ connection }) => connection)).size).toBe(2);
  });

  test('CVE-2026-48931 Node.js: it comes with the first, and the next call waits for the connection', async () => {
    let begin = () => {};
    const begun = new Promise<void>((resolve) => (begin = resolve));
    let answer = () => {};
    service.answer = (socket, head) => {
      if (nameOf(head) !== 'a') socket.write(whole(`for ${nameOf(head)}`));
      else answer = () => socket.write(whole('for a') + whole('stolen'));
      begin();
    };
    const first = call('a');
    await begun;
    const others = [call('b'), call('c')];
    await delay(50); // they wait inside, where nothing tells of it
    answer();
    expect(await first).toMatch(/for a$/);
    expect((await Promise.all(others)).map((text) => text.slice(-5))).toEqual(['for b', 'for c']);
  });

  test('aiohttp#13656 aiohttp: it lies behind the end that Content-Length gave', async () => {
    answerFirstWith('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfor a' + whole('stolen'));
    expect(await call('a')).toMatch(/for a$/);
    expect(await call('b')).toMatch(/for b$/);
  });
});

describe('an answer that can be read in two ways is service_unreachable, and its connection is closed', () => {
  const head = (...fields: string[]) => `HTTP/1.1 200 OK\r\n${fields.join('\r\n')}\r\n\r\n`;
  const LENGTH = 'Content-Length: 5';
  const CHUNKED = 'Transfer-Encoding: chunked';
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
    answerFirstWith(bytes + whole('stolen'));
    const answer = await call('a');
    expect(statusesOf(answer)).toEqual([502]);
    expect(answer).toContain('"service_unreachable"');
    expect(await call('b')).toMatch(/for b$/);
    expect(new Set(service.calls.map(({ connection }) => connection)).size).toBe(2);
  });
});

test('undici#5360 undici: a connection that ends while its answer is held back ends the process', async () => {
  const refused = 'HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n';
  service.answer = (socket, head) => {
    if (head.includes('/oauth2/token')) {
      // The refusal waits for it: not before its end has come.
      void turns(10).then(() => socket.end('HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n'));
    } else if (nameOf(head) === 'a') socket.end(refused);
    else socket.write(whole(`for ${nameOf(head)}`));
  };
  expect(statusesOf(await call('a'))).toEqual([503]);
  expect(await call('b')).toMatch(/for b$/);
});

test('CVE-2019-17567 Apache httpd: behind an upgrade that was not granted nothing is judged', async () => {
  const { cookie } = await house.enter();
  answerFirstWith(whole('for a'));
  const socket = connect({ port: house.config.port, host: '127.0.0.1', allowHalfOpen: true }).setEncoding(
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
  expect(service.calls).toHaveLength(1);
});

test('CVE-2022-0711 HAProxy: an answer with Set-Cookie2 never ends', async () => {
  answerFirstWith(whole('for a', 'Set-Cookie: hostile=1', 'Set-Cookie2: hostile=2'));
  const answer = await call('a');
  expect(answer).toMatch(/for a$/);
  expect(answer).not.toContain('hostile');
});

test('CVE-2026-22036 undici: a long chain of encodings is taken off one by one', async () => {
  const chain = Array.from({ length: 1_000 }, () => 'gzip').join(', ');
  answerFirstWith(whole('for a', `Content-Encoding: ${chain}`));
  const answer = await call('a');
  expect(answer).toContain(chain);
  expect(answer).toMatch(/for a$/);
});

test('CVE-2026-2581 undici: calls alike share one answer', async () => {
  service.answer = (socket) => socket.write(whole('for a'));
  await Promise.all([call('a'), call('a'), call('a')]);
  expect(service.calls).toHaveLength(3);
});

test('CVE-2026-13697 undici: an answer for one user is kept for another', async () => {
  service.answer = (socket) => socket.write(whole('for a', 'Cache-Control: public, max-age=600, private="x'));
  await call('a');
  await call('a');
  expect(service.calls).toHaveLength(2);
});

describe('a redirect to another host is the browser’s to follow, or not', () => {
  const cases: [flaw: string, method: string, status: number][] = [
    ['CVE-2022-31151 undici: cookies go along', 'GET', 302],
    ['CVE-2023-45143 undici: cookies go along with fetch', 'GET', 307],
    ['CVE-2024-24758 undici: Proxy-Authorization goes along', 'POST', 303],
    ['CVE-2024-30260 undici: Authorization goes along', 'POST', 308],
  ];

  test.each(cases)('%s', async (_flaw, method, status) => {
    await using elsewhere = await startRawService();
    answerFirstWith(`HTTP/1.1 ${status} Go\r\nLocation: ${elsewhere.url}/\r\nContent-Length: 0\r\n\r\n`);
    expect(statusesOf(await call('a', method))).toEqual([status]);
    expect(elsewhere.opened()).toBe(0);
    expect(service.calls).toHaveLength(1);
    expect(service.calls[0]?.head).not.toMatch(/\r\ncookie:/i);
  });
});
