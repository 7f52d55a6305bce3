import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { API_PATH as PATH, CHUNKED, MIB } from '../../support/constants.ts';
import { startTestApp } from '../../support/test-app.ts';
import { sendRaw } from '../../support/raw-client.ts';
import { useTestApp } from '../../support/fixtures.ts';

const HIDDEN = '/api/public/v1/hidden';
const UPLOAD_BYTES = 16 * MIB;

const testApp = useTestApp();
let cookie: string;

beforeAll(async () => {
  ({ cookie } = await testApp.createSession());
});
beforeEach(() => {
  testApp.serviceRequests.length = 0;
  testApp.intercept = (_req, res) => Boolean(res.end('early'));
});

function head(line: string, ...fields: string[]): string {
  return [line, 'Host: x', 'X-Requested-With: test', ...fields, '', ''].join('\r\n');
}
const post = (...fields: string[]) => head(`POST ${PATH} HTTP/1.1`, ...fields);
/** Returns the head of an upload with a session cookie. */
const upload = (...fields: string[]) => post(`Cookie: ${cookie}`, ...fields);

/** Opens a connection without reading from it. */
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

/** Sends the complete upload before reading the response, as a simple client would. */
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

const MANY_FIELDS = Array.from({ length: 99 }, (_, index) => `a${index}:`);

describe('a response before the end of an upload arrives in full, and the connection closes', () => {
  test.each([
    ['from the service', 200, () => upload(LENGTH), 'early'],
    ['from the service to a chunked upload', 200, () => upload(CHUNKED), 'early'],
    ['to a request without a session', 401, () => post(LENGTH), '"sign_in_required"'],
    ['to a chunked request without a session', 401, () => post(CHUNKED), '"sign_in_required"'],
    [
      'to a cross-site request',
      403,
      () => post('Sec-Fetch-Site: cross-site', LENGTH),
      '"cross_site_request"',
    ],
    [
      'to a request for an unknown path',
      404,
      () => head('POST /api/elsewhere HTTP/1.1', LENGTH),
      '"path_not_allowed"',
    ],
    [
      'to a Content-Length over the limit',
      413,
      () => upload('Content-Length: 999999999999'),
      '"body_too_large"',
    ],
    ['to a request with too many fields', 431, () => post(...MANY_FIELDS, LENGTH), '"too_many_headers"'],
    ['to a request with two Hosts', 400, () => post('Host: y', LENGTH), '"bad_request"'],
    // Page handlers read and discard the body, so the upload may end before the response.
    ['from a page', 404, () => head('POST /nothing-here HTTP/1.1', LENGTH, CLOSE), 'Page not found'],
    ['from sign-out', 303, () => head('POST /auth/logout HTTP/1.1', CHUNKED, CLOSE), ''],
    ['to CONNECT', 405, () => head('CONNECT x:1 HTTP/1.1'), ''],
    ['to bytes that are not a request', 400, () => 'nonsense\r\n\r\n', ''],
  ])('(%s: %i)', async (_how, status, start, text) => {
    const response = await uploadThenRead(start());
    expect(response).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(response).toMatch(/\r\nconnection: close\r\n/i);
    expect(response).toContain(text);
  });

  test('even if the response is large', async () => {
    testApp.intercept = (_req, res) => {
      res.setHeader('content-length', String(4 * MIB));
      return Boolean(res.end(Buffer.alloc(4 * MIB, 'y')));
    };
    const response = await uploadThenRead(upload(LENGTH));
    expect(response).toMatch(/\r\nconnection: close\r\n/i);
    expect(response.slice(response.indexOf('\r\n\r\n') + 4)).toHaveLength(4 * MIB);
  });
});

test('after an early response, the server does not read further requests', async () => {
  const socket = open();
  socket.write(post(LENGTH));
  await once(socket, 'readable');
  socket.write(`${'x'.repeat(UPLOAD_BYTES)}${head(`GET ${HIDDEN} HTTP/1.1`, `Cookie: ${cookie}`)}`);
  expect((await readToEnd(socket)).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 401']);
  await sendRaw(testApp, head(`GET ${PATH} HTTP/1.1`, `Cookie: ${cookie}`, 'Connection: close'));
  expect(testApp.serviceRequests.map(({ url }) => url)).toEqual([PATH]);
});

test('a refused request with a small body keeps its connection open for the next request', async () => {
  const socket = open().setEncoding('latin1');
  socket.write(post('Content-Length: 5'));
  const [first] = (await once(socket, 'data')) as [string];
  expect(first).toMatch(/^HTTP\/1.1 401 [\s\S]*connection: keep-alive/i);
  socket.write(`hello${head(`GET ${PATH} HTTP/1.1`, `Cookie: ${cookie}`, 'Connection: close')}`);
  expect(await readToEnd(socket)).toMatch(/^HTTP\/1.1 200 [\s\S]*early/);
});

test('a response after the complete upload keeps the connection open', async () => {
  testApp.intercept = (req, res) => Boolean(req.resume().once('end', () => res.end('late')));
  const socket = open().setEncoding('latin1');
  socket.write(upload(`Content-Length: ${MIB}`) + 'x'.repeat(MIB));
  expect(String(await once(socket, 'data'))).toMatch(/^HTTP\/1.1 200 [\s\S]*connection: keep-alive/i);
  socket.destroy();
});

describe('a client that keeps sending after its response', () => {
  /** A separate app with a short linger time. On a busy machine, uploads in other tests may take more than a second. */
  const shortLingerApp = useTestApp({ CLIENT_LINGER_SECONDS: '1' });

  test.each([
    ['a large body', LENGTH],
    ['a small body', 'Content-Length: 500'],
  ])('gets disconnected (%s)', async (_what, length) => {
    const socket = open({ allowHalfOpen: true }, shortLingerApp);
    socket.on('error', () => {});
    const closed = new Promise((resolve) => socket.once('close', resolve)); // an error also closes the socket
    socket.write(post(length));
    let received = '';
    socket.setEncoding('latin1').on('data', (part: string) => (received += part));
    await once(socket, 'data');
    const drip = setInterval(() => socket.write('x'.repeat(50)), 50);
    await closed;
    clearInterval(drip);
    expect(received).toMatch(/^HTTP\/1.1 401 /);
  });

  test('does not delay a drain', async () => {
    await using own = await startTestApp();
    const socket = open({ allowHalfOpen: true }, own);
    socket.on('error', () => {});
    socket.write(post(LENGTH));
    await once(socket, 'readable');
    const drip = setInterval(() => socket.write('x'), 50);
    expect(await own.running.drain(20_000)).toBe(true); // less than the default linger time of 30 s
    clearInterval(drip);
    socket.destroy();
  });
});

describe('a request with Expect: 100-continue', () => {
  const EXPECT = ['Content-Length: 5', 'Expect: 100-continue'];

  test('never gets a 100 if the gateway refuses its head', async () => {
    const response = await sendRaw(testApp, post(...EXPECT));
    expect(response).toMatch(/^HTTP\/1.1 401 [\s\S]*connection: close\r\n/i);
    expect(response).not.toContain('100 Continue');
  });

  test('gets a 100 if the gateway forwards its body, and reaches the service without the Expect field', async () => {
    testApp.intercept = (req, res) => Boolean(req.resume().once('end', () => res.end('taken')));
    const socket = open().setEncoding('latin1');
    socket.write(upload(CLOSE, ...EXPECT));
    const [first] = (await once(socket, 'data')) as [string];
    expect(first).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    socket.write('hello');
    expect(await readToEnd(socket)).toMatch(/^HTTP\/1.1 200 [\s\S]*taken/);
    expect(testApp.serviceRequests[0]?.headers.expect).toBeUndefined();
  });
});
