import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { CHUNKED } from '../../support/constants.ts';
import type { Cloakroom } from '../../support/fleet/cloakroom.ts';
import { startFleet } from '../../support/fleet/fleet.ts';
import { freePort } from '../../support/fleet/free-port.ts';
import { eventually } from '../../support/eventually.ts';
import { useFixture } from '../../support/fixtures.ts';
import { fc, scaled } from '../../support/properties.ts';

// Clients send arbitrary bytes, and read or disconnect at any time. The process must keep running and release all resources.

const API = '/api/public/v1';
const TIMEOUTS = {
  CLIENT_HEAD_SECONDS: '1',
  CLIENT_IDLE_SECONDS: '1',
  CLIENT_LINGER_SECONDS: '1',
  CLIENT_REQUEST_SECONDS: '3',
  SERVICE_TIMEOUT_SECONDS: '2',
};

let metricsPort: number;
let cookie: string;
const fleet = useFixture(async () => {
  metricsPort = await freePort();
  return startFleet({ env: { ...TIMEOUTS, METRICS_PORT: String(metricsPort) } });
});
beforeAll(async () => {
  ({ cookie } = await fleet.createSession());
  fleet.service.intercept = (req, res) => {
    res.setHeader('connection', 'close'); // no connection to the service outlives its request
    if (req.url?.includes('/large') === true) res.end(Buffer.alloc(4 * 1024 * 1024));
    else if (req.url?.includes('/slow') === true) setTimeout(() => res.end('slow'), 100);
    else if (req.url?.includes('/cut') === true) res.write('half', () => res.destroy());
    else req.resume().once('end', () => res.end('{}'));
    return true;
  };
});

const request = (line: string, ...fields: string[]) =>
  [`${line} HTTP/1.1`, 'Host: x', 'X-Requested-With: test', ...fields, '', ''].join('\r\n');
const signedIn = (line: string, ...fields: string[]) => request(line, `Cookie: ${cookie}`, ...fields);

/** Bytes that a client may send, wrapped in functions because the cookie does not exist yet. */
const PIECES: readonly (() => string | Buffer)[] = [
  () => request('GET /openapi.json'),
  () => request('GET /openapi.json').repeat(24),
  () => request('GET /healthz').repeat(1_000),
  () => request('GET /auth/login'),
  () => request('GET /'),
  () => request('HEAD /openapi.json', 'Connection: close'),
  () => signedIn(`GET ${API}/things`),
  () => signedIn(`GET ${API}/large`),
  () => signedIn(`GET ${API}/slow`),
  () => signedIn(`GET ${API}/cut`),
  () => signedIn(`GET ${API}/slow`) + signedIn(`GET ${API}/cut`).repeat(3),
  () => `${signedIn(`GET ${API}/large`)}NONSENSE\r\n\r\n`,
  () => signedIn('GET /workspaces'),
  () => `${signedIn(`POST ${API}/things`, 'Content-Length: 5')}hello`,
  () => `${signedIn(`POST ${API}/things`, 'Content-Length: 500000')}${'x'.repeat(100_000)}`,
  () => `${signedIn(`POST ${API}/things`, CHUNKED)}5\r\nhello\r\n0\r\n\r\n`,
  () => `${signedIn(`POST ${API}/things`, CHUNKED)}5\r\nhello\r\nnonsense\r\n`,
  () => signedIn(`POST ${API}/things`, 'Content-Length: 5', 'Expect: 100-continue'),
  () => `${request('GET /auth/login', CHUNKED)}nonsense\r\n`,
  () => `${request('POST /auth/logout', CHUNKED)}nonsense\r\n`,
  () => `${request('POST /', 'Content-Length: 3')}no`,
  () => request('GET /healthz', 'Connection: upgrade', 'Upgrade: websocket'),
  () => request('CONNECT x:1'),
  () => request('GET /', 'Expect: something'),
  () => request('TRACE /'),
  () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  () => 'NONSENSE\r\n\r\n',
  () => 'GET / HT',
  () => '\r\n\r\n',
  () => request('GET /', `A: ${'b'.repeat(20_000)}`),
  () => request('GET /', ...Array.from({ length: 200 }, (_, at) => `a${at}: b`)),
  () => Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03]),
];

const action = fc.oneof(
  { weight: 6, arbitrary: fc.nat(PIECES.length - 1).map((at) => ({ kind: 'write', at }) as const) },
  { weight: 1, arbitrary: fc.constant({ kind: 'stop reading' } as const) },
  { weight: 1, arbitrary: fc.constant({ kind: 'read on' } as const) },
  { weight: 1, arbitrary: fc.constant({ kind: 'end' } as const) },
  { weight: 1, arbitrary: fc.constant({ kind: 'reset' } as const) },
  { weight: 4, arbitrary: fc.nat(60).map((ms) => ({ kind: 'wait', ms }) as const) },
);
type Action = typeof action extends fc.Arbitrary<infer T> ? T : never;

/**
 * Resets a connection unless its FIN is still pending. Node never closes a socket that is reset while its FIN is pending, so
 * this process would hang at exit.
 */
function reset(socket: Socket): void {
  if (socket.writableEnded && !socket.writableFinished) socket.destroy();
  else socket.resetAndDestroy();
}

async function play(socket: Socket, actions: readonly Action[]): Promise<void> {
  for (const step of actions) {
    if (step.kind === 'write' && socket.writable) socket.write(PIECES[step.at]?.() ?? '');
    else if (step.kind === 'stop reading') socket.pause();
    else if (step.kind === 'read on') socket.resume();
    else if (step.kind === 'end') socket.end();
    else if (step.kind === 'reset') return reset(socket);
    else if (step.kind === 'wait') await delay(step.ms); // part of the input, not a wait for an event
  }
}

function open(cloakroom = fleet.at(0)): Socket {
  const { port } = new URL(cloakroom.url);
  const socket = connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true });
  return socket.on('error', () => {}).resume();
}

/** Resolves once the server has closed a connection, cleanly or not. */
async function endOf(socket: Socket): Promise<void> {
  if (!socket.closed) await new Promise((resolve) => socket.once('end', resolve).once('close', resolve));
}

async function openFiles(): Promise<number> {
  return (await readdir(`/proc/${fleet.at(0).pid}/fd`)).length;
}

/** Reads the number of API requests in flight from the metrics. */
async function inFlight(): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  return Number(/^cloakroom_api_requests_in_flight (\d+)$/m.exec(text)?.[1]);
}

async function expectNothingLeft(filesBefore: number): Promise<void> {
  await eventually(async () => (await inFlight()) === 0);
  await eventually(async () => (await openFiles()) <= filesBefore);
  expect((await fetch(`${fleet.at(0).url}/healthz`)).status).toBe(200);
  const logged = fleet.at(0).logged();
  expect(logged.filter(({ level }) => level === 'error' || level === 'fatal')).toEqual([]);
  expect(fleet.at(0).nonJsonLines()).toEqual([]);
}

/** Counts the files that the process keeps open while idle. */
async function filesWhenIdle(): Promise<number> {
  await (await fetch(`${fleet.at(0).url}${API}/things`, { headers: { cookie } })).text();
  await fetch(`${fleet.at(0).url}/auth/login`, { redirect: 'manual' });
  await inFlight();
  let files = await openFiles();
  await eventually(async () => {
    const before = files;
    await delay(1_200); // idle connections from these requests close after a second
    files = await openFiles();
    return files === before;
  });
  return files;
}

test('clients that send random bytes neither crash the process nor leave resources behind', async () => {
  const files = await filesWhenIdle();
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(action, { minLength: 1, maxLength: 8 }), { minLength: 8, maxLength: 24 }),
      async (scripts) => {
        const sockets = scripts.map(() => open());
        await Promise.all(scripts.map(async (script, at) => play(sockets[at] ?? open(), script)));
        for (const socket of sockets) socket.destroy();
        expect((await fetch(`${fleet.at(0).url}/healthz`)).status).toBe(200);
      },
    ),
    { numRuns: scaled(40), endOnFailure: true },
  );
  await expectNothingLeft(files);
});

test('malformed bytes after a request do not crash the process if the client never reads the response', async () => {
  const files = await filesWhenIdle();
  const socket = open().pause();
  socket.write(signedIn(`GET ${API}/large`));
  await once(socket, 'readable');
  socket.write('NONSENSE\r\n\r\n');
  await expectNothingLeft(files); // the open files include the client's connection
  socket.destroy();
});

test('clients that send CONNECT after a request and disconnect leave no resources behind', async () => {
  const files = await filesWhenIdle();
  const sockets = Array.from({ length: 64 }, () => open());
  for (const socket of sockets) socket.write(signedIn(`GET ${API}/large`) + request('CONNECT x:1'));
  await Promise.all(sockets.map(async (socket) => endOf(socket)));
  for (const socket of sockets) socket.destroy();
  await expectNothingLeft(files);
});

// A buffered chunk takes more than 100 bytes, so a million chunks do not fit in the heap.
describe('in a process with a small heap', () => {
  let small: Cloakroom;
  beforeEach(async () => {
    small = await fleet.add({
      NODE_OPTIONS: '--max-old-space-size=96',
      CLIENT_LINGER_SECONDS: '60',
      METRICS_PORT: '0',
    });
  });

  /**
   * Sends the same bytes over many connections simultaneously. Resolves with the status of a later request. The client never closes
   * its connections, so a server that waits for the client keeps them all open.
   */
  async function statusAfter(connections: number, bytes: string): Promise<number> {
    const sockets = Array.from({ length: connections }, () => open(small));
    await Promise.all(
      sockets.map(async (socket) => {
        const responded = new Promise((resolve) => socket.once('data', resolve));
        socket.write(bytes);
        await Promise.race([responded, endOf(socket)]);
      }),
    );
    const { status } = await fetch(`${small.url}/healthz`);
    for (const socket of sockets) socket.destroy();
    return status;
  }

  test('many small requests in one packet do not exhaust memory', async () => {
    expect(await statusAfter(80, 'GET / HTTP/1.1\r\n\r\n'.repeat(3_000))).toBe(200);
  });

  test.each(['POST /', 'GET /auth/login'])(
    '%s without a session does not exhaust memory, even with a body in one-byte chunks',
    async (line) => {
      expect(await statusAfter(100, request(line, CHUNKED) + '1\r\nx\r\n'.repeat(10_000))).toBe(200);
    },
  );

  test('uploads in one-byte chunks do not exhaust memory', async () => {
    const body = `${'1\r\nx\r\n'.repeat(60_000)}0\r\n\r\n`;
    expect(await statusAfter(24, signedIn(`POST ${API}/things`, CHUNKED) + body)).toBe(200);
  });
});
