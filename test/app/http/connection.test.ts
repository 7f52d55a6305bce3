import { connect, type Socket } from 'node:net';
import { beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { HttpServer } from '../../../src/http/http-server.ts';
import { bindPort } from '../../../src/http/listening.ts';
import { createLog } from '../../../src/observability/logger.ts';
import { createDeferred } from '../../../src/promises.ts';
import { API_PATH as API } from '../../support/constants.ts';
import { useTestApp } from '../../support/fixtures.ts';
import { eventually } from '../../support/eventually.ts';
import { openConnection, sendRaw } from '../../support/raw-client.ts';

// A connection serves one request at a time (docs/decisions/0008).

const testApp = useTestApp();
let cookie: string;
beforeAll(async () => {
  ({ cookie } = await testApp.createSession());
});
beforeEach(() => {
  testApp.serviceRequests.length = 0;
  testApp.logged.length = 0;
  testApp.intercept = (req, res) => Boolean(req.resume().once('end', () => res.end('{"value":[]}')));
});

const request = (method: string, path: string, ...fields: string[]) =>
  [`${method} ${path} HTTP/1.1`, 'Host: x', 'X-Requested-With: test', ...fields, '', ''].join('\r\n');
const statusesOf = (responses: string) => responses.match(/HTTP\/1\.1 \d+/g) ?? [];
/** Opens a connection. `sendWhole` resolves once the server has read everything that was sent. */
async function openWatched() {
  const accepted = new Promise<Socket>((resolve) => testApp.running.server.once('connection', resolve));
  const client = await openConnection(testApp.config.port);
  const serverEnd = await accepted;
  const sendWhole = async (text: string) => {
    client.socket.write(text);
    await eventually(async () => serverEnd.bytesRead === client.socket.bytesWritten);
  };
  return { client, sendWhole };
}
const requestLines = () => testApp.logged.filter((line) => line.includes('"msg":"request"'));

describe('a thousand requests in one write', () => {
  test.each(['/openapi.json', '/', '/healthz', API])(
    'get a single response, and the connection closes (%s)',
    async (path) => {
      const responses = await sendRaw(testApp, request('GET', path).repeat(1_000));
      expect(statusesOf(responses)).toHaveLength(1);
      expect(responses).toMatch(/^connection: close\r$/im);
      expect(requestLines()).toHaveLength(1);
    },
  );

  test('result in only one request to the service', async () => {
    const responses = await sendRaw(testApp, request('GET', API, `Cookie: ${cookie}`).repeat(1_000));
    expect(statusesOf(responses)).toEqual(['HTTP/1.1 200']);
    expect(testApp.serviceRequests).toHaveLength(1);
  });
});

test('a client that waits for each response keeps its connection', async () => {
  const client = await openConnection(testApp.config.port);
  for (let sent = 1; sent <= 64; sent += 1) {
    client.socket.write(request('GET', '/healthz'));
    await eventually(async () => client.text().split('{"status":"ok"}').length > sent);
  }
  expect(client.text()).not.toMatch(/connection: close/i);
  client.socket.destroy();
});

test('a GET pipelined after a POST never reaches the service', async () => {
  const arrived = createDeferred<() => void>();
  testApp.intercept = (req, res) => {
    req.resume().once('end', () => arrived.resolve(() => res.end('created')));
    return true;
  };
  const { client, sendWhole } = await openWatched();
  const fields = [`Cookie: ${cookie}`, 'Content-Length: 5'];
  client.socket.write(`${request('POST', API, ...fields)}hello`);
  const respond = await arrived.promise;
  await sendWhole(request('GET', API, `Cookie: ${cookie}`));
  expect(testApp.serviceRequests.map(({ method }) => method)).toEqual(['POST']);
  respond();
  expect(await client.closed).toBe('end');
  expect(client.text()).toMatch(/^HTTP\/1\.1 200 [\s\S]*connection: close[\s\S]*created$/i);
  expect(testApp.serviceRequests).toHaveLength(1);
});

test('if a request is pipelined during a response, the connection closes at the end of that response', async () => {
  const begun = createDeferred<() => void>();
  testApp.intercept = (_req, res) => {
    res.writeHead(200, { 'content-length': '9' }).write('half');
    begun.resolve(() => res.end(' done'));
    return true;
  };
  const { client, sendWhole } = await openWatched();
  client.socket.write(request('GET', API, `Cookie: ${cookie}`));
  const finish = await begun.promise;
  await client.until('half');
  await sendWhole(request('GET', API, `Cookie: ${cookie}`));
  finish();
  expect(await client.closed).toBe('end');
  expect(client.text()).toMatch(/half done$/);
  expect(testApp.serviceRequests).toHaveLength(1);
});

test('a client still gets its pending response if its pipelined upgrade request is dropped', async () => {
  const upgrade = request('GET', API, 'Connection: Upgrade', 'Upgrade: websocket');
  const responses = await sendRaw(testApp, request('GET', '/healthz') + upgrade);
  expect(statusesOf(responses)).toEqual(['HTTP/1.1 200']);
});

test.each([
  ['malformed bytes', 'NONSENSE\r\n\r\n'],
  ['a CONNECT request', request('CONNECT', 'x:1')],
])(
  'after %s during a request, the connection closes without an error response, which would look like the pending response',
  async (_what, bytes) => {
    const client = await openConnection(testApp.config.port);
    testApp.intercept = () => true;
    client.socket.write(request('GET', API, `Cookie: ${cookie}`));
    await eventually(async () => testApp.serviceRequests.length === 1);
    client.socket.write(bytes);
    expect(await client.closed).toMatch(/^(?:end|closed|ECONNRESET)$/);
    expect(client.text()).toBe('');
    await eventually(async () => requestLines().length === 1);
  },
);

test('a request with `Connection: close` gets its response even if more bytes follow it', async () => {
  const responses = await sendRaw(
    testApp,
    `${request('GET', '/healthz', 'Connection: close')}GET /more HTTP`,
  );
  expect(statusesOf(responses)).toEqual(['HTTP/1.1 200']);
});

test('an HTTP/1.0 client that closes its side of the connection gets a reset, so a partial response does not look complete', async () => {
  testApp.intercept = (_req, res) => res.write('half') || true;
  const { client } = await openWatched();
  client.socket.write(request('GET', API, `Cookie: ${cookie}`).replace('1.1', '1.0'));
  await client.until('half');
  client.socket.end();
  expect(await client.closed).toBe('ECONNRESET');
});

const PATHS =
  '/ /auth/login /auth/callback /auth/session /workspaces /console /openapi.json /api/public/v1/workspaces';

test.each(PATHS.split(' '))(
  'a malformed chunk after the head of a GET %s request is not logged as an error',
  async (path) => {
    for (const session of ['', `Cookie: ${cookie}\r\n`]) {
      const client = connect(testApp.config.port, '127.0.0.1');
      const ended = new Promise((resolve) => client.resume().once('end', resolve).once('close', resolve));
      client.on('error', () => {}); // a reset also ends the connection
      client.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n${session}Transfer-Encoding: chunked\r\n\r\nzz\r\n`);
      await ended;
      client.destroy();
    }
    // By the time a later request has been logged, both earlier requests have been logged.
    await fetch(`${testApp.origin}/later`).then(async (response) => response.arrayBuffer());
    await eventually(async () => testApp.logged.some((line) => line.includes('"path":"/later"')));
    expect(testApp.logged.filter((line) => /"level":"(?:error|fatal)"/.test(line))).toEqual([]);
  },
);

test('a client receives all of a large response if it reads slowly but steadily', async () => {
  const [size, step, unreadMs] = [64_000_000, 16_000_000, 60_000];
  jest.useFakeTimers({
    doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance', 'setTimeout'],
  });
  try {
    const bound = await bindPort('127.0.0.1', 0);
    const http = new HttpServer({ log: createLog('silent'), lingerMs: unreadMs, unreadMs });
    await http.listen(bound, (_req, res) => void res.end(Buffer.alloc(size))); // a single write
    const client = connect(bound.port, '127.0.0.1');
    client.write(request('GET', '/', 'Connection: close'));
    let received = 0;
    for await (const chunk of client) {
      const before = received;
      received += (chunk as Buffer).length;
      if (Math.floor(received / step) > Math.floor(before / step)) jest.advanceTimersByTime(unreadMs); // runs all checks
    }
    expect(received).toBeGreaterThan(size);
    await http.drain(1_000);
  } finally {
    jest.useRealTimers();
  }
});
