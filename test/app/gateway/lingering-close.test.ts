import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { API_PATH as PATH, CHUNKED, MIB } from '../../support/constants.ts';
import { startTestApp, type TestApp } from '../../support/test-app.ts';
import { sendRaw } from '../../support/raw.ts';
import { useTestApp } from '../../support/fixtures.ts';

const HIDDEN = '/api/public/v1/hidden';
const UPLOAD_BYTES = 16 * MIB;

let testApp: TestApp;
let cookie: string;

beforeAll(async () => {
  testApp = await startTestApp();
  ({ cookie } = await testApp.createSession());
});
afterAll(async () => testApp[Symbol.asyncDispose]());
beforeEach(() => {
  testApp.serviceRequests.length = 0;
  testApp.intercept = (_req, res) => Boolean(res.end('early'));
});

function head(line: string, ...fields: string[]): string {
  return [line, 'Host: x', 'X-Requested-With: test', ...fields, '', ''].join('\r\n');
}

/** A connection that treats a reset as an error, and reads nothing before the test does. */
function open(options: { allowHalfOpen?: boolean } = {}, at = testApp): Socket {
  return connect({ port: at.config.port, host: '127.0.0.1', ...options });
}

async function readToEnd(socket: Socket): Promise<string> {
  let received = '';
  socket.setEncoding('latin1').on('data', (part: string) => (received += part));
  const [hadError] = (await once(socket, 'close')) as [boolean];
  expect(hadError).toBe(false);
  return received;
}

/** Sends a whole upload before it reads the first byte of the response, as simple clients do. */
async function uploadThenRead(start: string): Promise<string> {
  const socket = open();
  socket.write(start);
  const part = Buffer.alloc(64 * 1024, 'x');
  for (let sent = 0; sent < UPLOAD_BYTES; sent += part.length) {
    const framed = start.includes('chunked')
      ? Buffer.concat([Buffer.from('10000\r\n'), part, Buffer.from('\r\n')])
      : part;
    if (!socket.write(framed)) await once(socket, 'drain');
  }
  return readToEnd(socket);
}

const LENGTH = `Content-Length: ${UPLOAD_BYTES}`;
const CLOSE = 'Connection: close';

describe('a response before the end of an upload arrives whole, and closes the connection', () => {
  test.each([
    ['by the service', 200, () => head(`POST ${PATH} HTTP/1.1`, `Cookie: ${cookie}`, LENGTH), 'early'],
    [
      'by the service to chunks',
      200,
      () => head(`POST ${PATH} HTTP/1.1`, `Cookie: ${cookie}`, CHUNKED),
      'early',
    ],
    ['without a session', 401, () => head(`POST ${PATH} HTTP/1.1`, LENGTH), '"sign_in_required"'],
    ['without a session, to chunks', 401, () => head(`POST ${PATH} HTTP/1.1`, CHUNKED), '"sign_in_required"'],
    [
      'for another site',
      403,
      () => head(`POST ${PATH} HTTP/1.1`, 'Sec-Fetch-Site: cross-site', LENGTH),
      '"cross_site_request"',
    ],
    ['for an unknown path', 404, () => head('POST /api/elsewhere HTTP/1.1', LENGTH), '"path_not_allowed"'],
    [
      'for a length that is too large',
      413,
      () => head(`POST ${PATH} HTTP/1.1`, `Cookie: ${cookie}`, 'Content-Length: 999999999999'),
      '"body_too_large"',
    ],
    [
      'for too many fields',
      431,
      () => head(`POST ${PATH} HTTP/1.1`, ...Array.from({ length: 99 }, (_, index) => `a${index}:`), LENGTH),
      '"too_many_headers"',
    ],
    ['for two hosts', 400, () => head(`POST ${PATH} HTTP/1.1`, 'Host: y', LENGTH), '"bad_request"'],
    // Pages read a body and drop it: its end may come before the response.
    ['by a page', 404, () => head('POST /nothing-here HTTP/1.1', LENGTH, CLOSE), 'There is no such page'],
    ['by sign-out', 303, () => head('POST /auth/logout HTTP/1.1', CHUNKED, CLOSE), ''],
    ['for CONNECT', 405, () => head('CONNECT x:1 HTTP/1.1'), ''],
    ['for bytes that are no request', 400, () => 'nonsense\r\n\r\n', ''],
  ])('%s: %i', async (_how, status, start, text) => {
    const answer = await uploadThenRead(start());
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer).toMatch(/\r\nconnection: close\r\n/i);
    expect(answer).toContain(text);
  });

  test('however long it is', async () => {
    testApp.intercept = (_req, res) => {
      res.setHeader('content-length', String(4 * MIB));
      return Boolean(res.end(Buffer.alloc(4 * MIB, 'y')));
    };
    const answer = await uploadThenRead(head(`POST ${PATH} HTTP/1.1`, `Cookie: ${cookie}`, LENGTH));
    expect(answer).toMatch(/\r\nconnection: close\r\n/i);
    expect(answer.slice(answer.indexOf('\r\n\r\n') + 4)).toHaveLength(4 * MIB);
  });
});

test('nothing behind such a response is a request', async () => {
  const socket = open();
  socket.write(head(`POST ${PATH} HTTP/1.1`, LENGTH));
  await once(socket, 'readable');
  const sent = `${'x'.repeat(UPLOAD_BYTES)}${head(`GET ${HIDDEN} HTTP/1.1`, `Cookie: ${cookie}`)}`;
  socket.write(sent);
  expect((await readToEnd(socket)).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 401']);
  await sendRaw(testApp, head(`GET ${PATH} HTTP/1.1`, `Cookie: ${cookie}`, 'Connection: close'));
  expect(testApp.serviceRequests.map(({ url }) => url)).toEqual([PATH]);
});

test('a refusal of a small body keeps the connection, for the next request', async () => {
  const socket = open().setEncoding('latin1');
  socket.write(head(`POST ${PATH} HTTP/1.1`, 'Content-Length: 5'));
  const [first] = (await once(socket, 'data')) as [string];
  expect(first).toMatch(/^HTTP\/1.1 401 [\s\S]*connection: keep-alive/i);
  socket.write(`hello${head(`GET ${PATH} HTTP/1.1`, `Cookie: ${cookie}`, 'Connection: close')}`);
  expect(await readToEnd(socket)).toMatch(/^HTTP\/1.1 200 [\s\S]*early/);
});

test('a response after the whole upload keeps the connection', async () => {
  testApp.intercept = (req, res) => Boolean(req.resume().once('end', () => res.end('late')));
  const socket = open().setEncoding('latin1');
  socket.write(
    head(`POST ${PATH} HTTP/1.1`, `Cookie: ${cookie}`, `Content-Length: ${MIB}`) + 'x'.repeat(MIB),
  );
  expect(String(await once(socket, 'data'))).toMatch(/^HTTP\/1.1 200 [\s\S]*connection: keep-alive/i);
  socket.destroy();
});

describe('a client that goes on sending', () => {
  /** An app of its own: on a busy machine, an upload takes a second. */
  const impatient = useTestApp({ CLIENT_LINGER_SECONDS: '1' });

  test.each([
    ['a large body', LENGTH],
    ['a small one', 'Content-Length: 500'],
  ])('%s without end after its response is cut off in time', async (_what, length) => {
    const socket = open({ allowHalfOpen: true }, impatient);
    socket.on('error', () => {});
    const closed = new Promise((resolve) => socket.once('close', resolve)); // by an error, too
    socket.write(head(`POST ${PATH} HTTP/1.1`, length));
    let received = '';
    socket.setEncoding('latin1').on('data', (part: string) => (received += part));
    await once(socket, 'data');
    const drip = setInterval(() => socket.write('x'.repeat(50)), 50);
    await closed;
    clearInterval(drip);
    expect(received).toMatch(/^HTTP\/1.1 401 /);
  });

  test('after its response does not delay a drain', async () => {
    await using own = await startTestApp();
    const socket = connect({ port: own.config.port, host: '127.0.0.1', allowHalfOpen: true });
    socket.on('error', () => {});
    socket.write(head(`POST ${PATH} HTTP/1.1`, LENGTH));
    await once(socket, 'readable');
    const drip = setInterval(() => socket.write('x'), 50);
    expect(await own.running.drain(20_000)).toBe(true); // less than the 30 s that it lingers elsewhere
    clearInterval(drip);
    socket.destroy();
  });
});

describe('Expect: 100-continue', () => {
  const EXPECT = ['Content-Length: 5', 'Expect: 100-continue'];

  test('gets no 100 where the head is refused', async () => {
    const answer = await sendRaw(testApp, head(`POST ${PATH} HTTP/1.1`, ...EXPECT));
    expect(answer).toMatch(/^HTTP\/1.1 401 [\s\S]*connection: close\r\n/i);
    expect(answer).not.toContain('100 Continue');
  });

  test('gets 100 where the body is wanted, and never reaches the service', async () => {
    testApp.intercept = (req, res) => Boolean(req.resume().once('end', () => res.end('taken')));
    const socket = open().setEncoding('latin1');
    socket.write(head(`POST ${PATH} HTTP/1.1`, `Cookie: ${cookie}`, 'Connection: close', ...EXPECT));
    const [first] = (await once(socket, 'data')) as [string];
    expect(first).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    socket.write('hello');
    expect(await readToEnd(socket)).toMatch(/^HTTP\/1.1 200 [\s\S]*taken/);
    expect(testApp.serviceRequests[0]?.headers.expect).toBeUndefined();
  });
});
