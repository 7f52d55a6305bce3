import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { watchConnection, type RawConnection } from './raw-client.ts';
import { readRequest, type RawMessage } from './raw-message.ts';
import { startTcpServer } from './tcp-server.ts';

/** A complete request as the service received it. */
export interface RawRequest extends RawMessage {
  /** The decoded body. */
  readonly body: Buffer;
  /** The number of the request's connection; connections are numbered from 1 in the order in which they opened. */
  readonly connection: number;
}

/** Returns the response bytes (text is Latin-1), or null if the function writes to the socket itself. */
type Responder = (request: RawRequest, socket: Socket) => string | Buffer | null;

/** A service that records each raw request and responds with bytes from the test. */
export type RawService = Awaited<ReturnType<typeof startRawService>>;

/** Returns a response with a Content-Length. Text is encoded as UTF-8. */
export function response(status: number, body: string | Buffer = '', ...fields: string[]): Buffer {
  const length = `Content-Length: ${Buffer.byteLength(body)}`;
  const head = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, length, ...fields].join('\r\n');
  return Buffer.concat([Buffer.from(`${head}\r\n\r\n`), Buffer.from(body)]);
}

/** Returns a JSON response. */
export function json(status: number, value: unknown): Buffer {
  return response(status, JSON.stringify(value), 'Content-Type: application/json');
}

/** Returns a 200 response that keeps the connection open, as Latin-1 text. */
export function ok(body = '', ...fields: string[]): string {
  return response(200, body, ...fields).toString('latin1');
}

/** Returns a 200 response that closes the connection, as Latin-1 text. */
export function okAndClose(body = ''): string {
  return ok(body, 'Connection: close');
}

/** Starts a raw service on a free port. The service responds with an empty 200 until the test sets another response. */
export async function startRawService() {
  const service = {
    /** The complete requests in order of arrival. */
    requests: [] as RawRequest[],
    respond: (() => ok()) as Responder,
  };
  let take: ((end: RawConnection) => void) | null = null;
  let opened = 0;
  const server = await startTcpServer((socket) => {
    opened += 1;
    const connection = opened;
    let bytes = Buffer.alloc(0);
    const read = (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      if (take !== null) {
        socket.off('data', read);
        take(watchConnection(socket, [bytes]));
        take = null;
        return;
      }
      for (let next = readRequest(bytes); next !== null; next = readRequest(bytes)) {
        const { length, ...message } = next;
        bytes = bytes.subarray(length);
        const request = { ...message, connection };
        service.requests.push(request);
        const bytesOut = service.respond(request, socket);
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
    /** Returns the number of connections opened, including those without a request. */
    openedConnections: () => opened,
    /** Resolves with the next connection on which bytes arrive. The test, not the service, then responds on that connection. */
    takeNextConnection: async () =>
      new Promise<RawConnection>((resolve) => {
        take = resolve;
      }),
    [Symbol.asyncDispose]: async () => server[Symbol.asyncDispose](),
  });
}
