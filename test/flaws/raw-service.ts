import type { Socket } from 'node:net';
import { startTcpServer } from '../support/tcp-server.ts';

/** A service that answers with bytes of the test's choice, HTTP or not. */
export interface RawService extends AsyncDisposable {
  readonly url: string;
  /** The heads that came, in order, each with the number of its connection. */
  readonly calls: { readonly connection: number; readonly head: string }[];
  /** Connections that were opened. */
  readonly opened: () => number;
  answer: (socket: Socket, head: string) => void;
}

/** Starts it on a port of its own. It reads heads only: what is sent to it has no body. */
export async function startRawService(): Promise<RawService> {
  let opened = 0;
  const server = await startTcpServer((socket) => {
    opened += 1;
    const connection = opened;
    let text = '';
    socket
      .setNoDelay(true)
      .setEncoding('latin1')
      .on('data', (chunk: string) => {
        text += chunk;
        for (let end = text.indexOf('\r\n\r\n'); end >= 0; end = text.indexOf('\r\n\r\n')) {
          const head = text.slice(0, end);
          text = text.slice(end + 4);
          service.calls.push({ connection, head });
          service.answer(socket, head);
        }
      });
  });
  const service: RawService = {
    url: `http://127.0.0.1:${server.port}`,
    calls: [],
    opened: () => opened,
    answer: (socket) => socket.destroy(),
    [Symbol.asyncDispose]: async () => server[Symbol.asyncDispose](),
  };
  return service;
}

/** A whole answer with a body of its own length. */
export function whole(body: string, ...fields: string[]): string {
  const lines = ['HTTP/1.1 200 OK', `Content-Length: ${Buffer.byteLength(body)}`, ...fields];
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}
