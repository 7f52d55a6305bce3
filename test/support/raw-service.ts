import type { Socket } from 'node:net';
import { watch } from './raw-client.ts';
import type { RawEnd } from './raw-client.ts';
import { bodyOf, readMessage } from './raw-message.ts';
import type { RawMessage } from './raw-message.ts';
import { startTcpServer } from './tcp-server.ts';

/** A request as it came to the service, whole. */
export interface RawRequest extends RawMessage {
  /** Its body without chunk sizes. */
  readonly body: Buffer;
}

/** A service that speaks bytes: it records what came exactly, and sends what it is told exactly. */
export interface RawService extends AsyncDisposable {
  readonly origin: string;
  /** `host:port` */
  readonly host: string;
  /** Whole requests, in the order in which they came. */
  readonly requests: RawRequest[];
  /** Connections that are open. */
  readonly sockets: ReadonlySet<Socket>;
  /** Answers a whole request: with these bytes, or by itself where it gives none. */
  answer: (request: RawRequest, socket: Socket) => string | Buffer | null;
  /** Leaves the connection on which the next bytes come to the test, once they come. */
  takeNext(): Promise<RawEnd>;
}

/** An answer that leaves the connection open. */
export function ok(body = ''): string {
  return `HTTP/1.1 200 OK\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** An answer after which its connection is used no more. */
export function last(body = ''): string {
  return ok(body).replace('\r\n', '\r\nConnection: close\r\n');
}

/** Starts it on a free port; it answers an empty 200 until told otherwise. */
export async function startRawService(): Promise<RawService> {
  const service: Pick<RawService, 'requests' | 'answer'> = { requests: [], answer: () => ok() };
  let take: ((end: RawEnd) => void) | null = null;
  const server = await startTcpServer((socket) => {
    let chunks: Buffer[] = [];
    const read = (chunk: Buffer) => {
      chunks.push(chunk);
      if (take !== null) {
        socket.off('data', read);
        take(watch(socket, chunks));
        take = null;
        return;
      }
      const message = readMessage(chunks.length === 1 ? chunk : Buffer.concat(chunks));
      const body = message && bodyOf(message);
      if (message === null || body === null) return;
      chunks = [];
      const request = { ...message, body };
      service.requests.push(request);
      const answer = service.answer(request, socket);
      if (answer !== null) socket.write(typeof answer === 'string' ? Buffer.from(answer, 'latin1') : answer);
    };
    socket.on('data', read);
  });
  const host = `127.0.0.1:${server.port}`;

  return Object.assign(service, {
    origin: `http://${host}`,
    host,
    sockets: server.sockets,
    takeNext: async () =>
      new Promise<RawEnd>((resolve) => {
        take = resolve;
      }),
    [Symbol.asyncDispose]: async () => server[Symbol.asyncDispose](),
  });
}
