import { once } from 'node:events';
import type { Socket } from 'node:net';
import { beforeAll, expect, test } from '@jest/globals';
import { createDeferred } from '../../../src/promises.ts';
import { API_PATH as PATH } from '../../support/constants.ts';
import { fc, scaled } from '../../support/properties.ts';
import { eventually } from '../../support/eventually.ts';
import { openConnection } from '../../support/raw-client.ts';
import { startRawApp } from '../../support/raw-app.ts';
import { ok } from '../../support/raw-service.ts';
import { eventLoopTurns } from '../../support/event-loop.ts';
import { useFixture } from '../../support/fixtures.ts';

// Clients receive complete responses in full and can detect truncated responses. The pool never loses a connection.
// An uncaught error fails the test.

/** A session may use half of the connections, so 16 connections allow eight simultaneous requests. */
const CONNECTIONS = 2 * 8;

const raw = useFixture(async () => startRawApp({ SERVICE_CONNECTIONS: String(CONNECTIONS) }));
/** Cloakroom's side of each connection, keyed by client port. */
const accepted = new Map<number | undefined, Socket>();
beforeAll(() => {
  raw.testApp.running.server.on('connection', (socket: Socket) => {
    accepted.set(socket.remotePort, socket);
    socket.once('close', () => accepted.delete(socket.remotePort));
  });
});

/** How the service responds to one request. */
const served = fc.record({
  status: fc.constantFrom('200 OK', '401 Unauthorized', '404 Not Found'),
  framing: fc.constantFrom('length', 'chunks', 'close', 'too short', 'no last chunk'),
  isLast: fc.boolean(),
  /** Parts of the body, and the number of event loop turns after each. */
  pieces: fc.array(
    fc.record({ bytes: fc.constantFrom(0, 1, 5_000, 16_384, 20_000, 65_536, 70_000), turns: fc.nat(3) }),
    { maxLength: 4 },
  ),
  closing: fc.constantFrom('ends', 'resets', 'stays'),
});
type Served = typeof served extends fc.Arbitrary<infer T> ? T : never;

/** How the client reads the response. A `late` client has a full receive window until the service has sent everything. */
const reading = fc.constantFrom('immediately', 'late', 'partially');

const bytesOf = ({ pieces }: Served) => pieces.reduce((sum, { bytes }) => sum + bytes, 0);

const isWhole = (request: Served) => !isBroken(request) && request.closing !== 'resets';

const isBroken = ({ framing }: Served) => framing === 'too short' || framing === 'no last chunk';

/** Returns a description of the fault in the response that the client received, or null. */
function faultOf(request: Served, text: string): string | null {
  if (isBroken(request)) return text.endsWith('\r\n0\r\n\r\n') ? 'looks whole' : null;
  if (!isWhole(request)) return null; // a reset may lose any part of the response
  if (!text.includes(`HTTP/1.1 ${request.status}`)) return 'no head';
  const came = text.split('~').length - 1;
  return came === bytesOf(request) ? null : `${came} bytes of ${bytesOf(request)}`;
}

async function serve(socket: Socket, request: Served): Promise<void> {
  const { status, framing, isLast, pieces, closing } = request;
  const bytes = bytesOf(request);
  const inChunks = framing === 'chunks' || framing === 'no last chunk';
  const fields = [
    ...(isLast ? ['Connection: close'] : []),
    ...(inChunks ? ['Transfer-Encoding: chunked'] : []),
    ...(framing === 'length' ? [`Content-Length: ${bytes}`] : []),
    ...(framing === 'too short' ? [`Content-Length: ${bytes + 1}`] : []),
  ];
  socket.write(`HTTP/1.1 ${status}\r\n${fields.map((field) => `${field}\r\n`).join('')}\r\n`);
  for (const piece of pieces) {
    const text = '~'.repeat(piece.bytes);
    if (!inChunks) socket.write(text);
    else if (text !== '') socket.write(`${text.length.toString(16)}\r\n${text}\r\n`);
    await eventLoopTurns(piece.turns);
  }
  if (framing === 'chunks') socket.write('0\r\n\r\n');
  if (closing === 'resets') socket.resetAndDestroy();
  // If the connection stayed open, a truncated or close-delimited response would end only at a timeout.
  else if (closing === 'ends' || !isWhole(request) || framing === 'close') socket.end();
}

/** Expects all connections to carry requests at the same time. Each request has its own session, because sessions have quotas. */
async function expectAllConnections(): Promise<void> {
  const { promise: allAreThere, resolve } = createDeferred<void>();
  raw.service.requests.length = 0;
  raw.service.respond = (_request, socket) => {
    void allAreThere.then(() => socket.write(ok('next')));
    if (raw.service.requests.length === CONNECTIONS) resolve();
    return null;
  };
  const requests = [];
  for (let request = 0; request < CONNECTIONS; request++) {
    await raw.createSession();
    requests.push(raw.send(`GET ${PATH}`));
  }
  for (const { rest } of await Promise.all(requests)) expect(rest.toString()).toBe('next');
}

test('every response arrives in full or is recognisably incomplete (60 rounds of up to 8 concurrent requests)', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ served, reading }), { minLength: 1, maxLength: 8 }),
      async (requests) => {
        await raw.createSession(); // a token less than 30 s old is not refreshed
        const over = requests.map(() => createDeferred<void>());
        raw.service.respond = ({ start }, socket) => {
          if (start.includes('/oauth2/token')) return ok('{"access_token":"a-new-token","expires_in":900}');
          const [, at = 'none'] = /\/request\/(\d+) HTTP/.exec(start) ?? [];
          const request = requests[Number(at)];
          if (request === undefined) throw new Error(`unexpected request: ${start}`);
          void serve(socket, request.served).then(() => over[Number(at)]?.resolve());
          return null;
        };

        await Promise.all(
          requests.map(async (request, at) => {
            const browser = await openConnection(raw.testApp.config.port);
            const isLate = request.reading === 'late';
            const port = browser.socket.localPort;
            if (isLate) {
              await eventually(async () => accepted.has(port));
              accepted.get(port)?.cork(); // simulates a full receive window
            }
            browser.socket.write(raw.head(`GET ${PATH}/request/${at}`, ['Connection: close']));
            if (isLate) {
              await over[at]?.promise;
              await eventLoopTurns(5);
              accepted.get(port)?.uncork();
            }
            if (request.reading === 'partially') {
              if (browser.bytes() === 0) await Promise.race([once(browser.socket, 'data'), browser.closed]);
              browser.socket.destroy();
            }
            expect(await browser.closed).not.toMatch('no data arrived in time');
            if (request.reading === 'partially') return;
            expect(faultOf(request.served, browser.text())).toBeNull();
          }),
        );
      },
    ),
    { numRuns: scaled(60) },
  );
  await expectAllConnections();
});
