import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { watch, type RawEnd } from './raw-client.ts';
import { readRequest, type RawMessage } from './raw-message.ts';
import { startTcpServer } from './tcp-server.ts';

/** A whole request as the service received it. */
export interface RawRequest extends RawMessage {
  /** Its body without chunk sizes. */
  readonly body: Buffer;
  /** The number of its connection, by the order in which they were opened, from 1. */
  readonly connection: number;
}

/** Returns the bytes of the response (text is Latin-1), or null where it writes to the socket itself. */
type Responder = (request: RawRequest, socket: Socket) => string | Buffer | null;

/** A service that records each request exactly, and responds with the bytes that the test gives. */
export type RawService = Awaited<ReturnType<typeof startRawService>>;

/** A response with its length. A body of text is UTF-8. */
export function response(status: number, body: string | Buffer = '', ...fields: string[]): Buffer {
  const length = `Content-Length: ${Buffer.byteLength(body)}`;
  const head = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, length, ...fields].join('\r\n');
  return Buffer.concat([Buffer.from(`${head}\r\n\r\n`), Buffer.from(body)]);
}

/** A response in JSON. */
export function json(status: number, value: unknown): Buffer {
  return response(status, JSON.stringify(value), 'Content-Type: application/json');
}

/** A 200 that leaves the connection open, as text in Latin-1. */
export function ok(body = '', ...fields: string[]): string {
  return response(200, body, ...fields).toString('latin1');
}

/** A 200 that closes the connection, as text in Latin-1. */
export function last(body = ''): string {
  return ok(body, 'Connection: close');
}

/** Starts it on a free port. It responds with an empty 200 until the test sets another response. */
export async function startRawService() {
  const service = {
    /** Whole requests, in the order in which they arrived. */
    requests: [] as RawRequest[],
    answer: (() => ok()) as Responder,
  };
  let take: ((end: RawEnd) => void) | null = null;
  let opened = 0;
  const server = await startTcpServer((socket) => {
    opened += 1;
    const connection = opened;
    let bytes = Buffer.alloc(0);
    const read = (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      if (take !== null) {
        socket.off('data', read);
        take(watch(socket, [bytes]));
        take = null;
        return;
      }
      for (let next = readRequest(bytes); next !== null; next = readRequest(bytes)) {
        const { length, ...message } = next;
        bytes = bytes.subarray(length);
        const request = { ...message, connection };
        service.requests.push(request);
        const bytesOut = service.answer(request, socket);
        if (bytesOut !== null)
          socket.write(typeof bytesOut === 'string' ? Buffer.from(bytesOut, 'latin1') : bytesOut);
      }
    };
    socket.setNoDelay().on('data', read);
  });
  const host = `127.0.0.1:${server.port}`;

  return Object.assign(service, {
    origin: `http://${host}`,
    /** `host:port` */
    host,
    sockets: server.sockets,
    /** Counts the connections that were opened, those without a request included. */
    opened: () => opened,
    /** Leaves the connection on which the next bytes arrive to the test. Resolves once they arrive. */
    takeNext: async () =>
      new Promise<RawEnd>((resolve) => {
        take = resolve;
      }),
    [Symbol.asyncDispose]: async () => server[Symbol.asyncDispose](),
  });
}
