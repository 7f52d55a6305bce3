import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { watch, type RawEnd } from './raw-client.ts';
import { readRequest, type RawMessage } from './raw-message.ts';
import { startTcpServer } from './tcp-server.ts';

/** A request as it came to the service, whole. */
export interface RawRequest extends RawMessage {
  /** Its body without chunk sizes. */
  readonly body: Buffer;
  /** The number of its connection, in the order in which they were opened; the first is 1. */
  readonly connection: number;
}

/** Responds to a whole request with these bytes (text is Latin-1), or by itself where it gives null. */
type Responder = (request: RawRequest, socket: Socket) => string | Buffer | null;

/** A service that speaks bytes: it records each request exactly, and responds with the bytes that the test gives. */
export interface RawService extends AsyncDisposable {
  readonly origin: string;
  /** `host:port` */
  readonly host: string;
  /** Whole requests, in the order in which they came. */
  readonly requests: RawRequest[];
  /** Connections that are open. */
  readonly sockets: ReadonlySet<Socket>;
  /** Counts the connections that were opened, those without a request included. */
  opened(): number;
  answer: Responder;
  /** Leaves the connection on which the next bytes come to the test, once they come. */
  takeNext(): Promise<RawEnd>;
}

/** A whole response; a body of text is UTF-8. */
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

/** A 200 after which its connection is used no more. */
export function last(body = ''): string {
  return ok(body, 'Connection: close');
}

/** Starts it on a free port; it responds with an empty 200 until told otherwise. */
export async function startRawService(): Promise<RawService> {
  const service: Pick<RawService, 'requests' | 'answer'> = { requests: [], answer: () => ok() };
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
        const answer = service.answer(request, socket);
        if (answer !== null)
          socket.write(typeof answer === 'string' ? Buffer.from(answer, 'latin1') : answer);
      }
    };
    socket.setNoDelay().on('data', read);
  });
  const host = `127.0.0.1:${server.port}`;

  return Object.assign(service, {
    origin: `http://${host}`,
    host,
    sockets: server.sockets,
    opened: () => opened,
    takeNext: async () =>
      new Promise<RawEnd>((resolve) => {
        take = resolve;
      }),
    [Symbol.asyncDispose]: async () => server[Symbol.asyncDispose](),
  });
}
