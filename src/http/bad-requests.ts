import { STATUS_CODES } from 'node:http';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from '../observability/logger.ts';
import type { Connections } from './connection.ts';

/** An error of a connection: of Node's parser, which adds its reason, or of the socket. */
interface ParseError extends NodeJS.ErrnoException {
  readonly reason?: string;
}

/**
 * Responds to bytes that are no HTTP request with a constant 400, 408, 431 or 505, and to CONNECT with 405, then closes the
 * connection. Where the client would take that for the response to an earlier request, the connection is destroyed.
 */
export function refuseBadRequests(server: Server, connections: Connections, log: Logger): void {
  const refuse = (socket: Socket, status: number, reason: string) => {
    const connection = connections.get(socket);
    if (connection?.takesResponse !== true || connection.isLingering || !socket.writable) {
      socket.destroy();
      return;
    }
    log.info({ status, reason, client: socket.remoteAddress }, 'bad request');
    const lines = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, 'Connection: close', 'Content-Length: 0'];
    socket.write(`${lines.join('\r\n')}\r\n\r\n`);
    if (connection.isHandling) socket.destroy();
    else connection.close();
  };

  server.on('clientError', (error: ParseError, stream) => {
    const socket = stream as Socket;
    const { code = '' } = error;
    // Bytes behind a request that said `Connection: close`: they are no part of any request.
    if (code === 'HPE_CLOSED_CONNECTION') connections.get(socket)?.endWithResponse();
    else if (code === 'ERR_HTTP_REQUEST_TIMEOUT' || code.startsWith('HPE_'))
      refuse(socket, toStatus(error), code);
    else socket.destroy(); // the connection broke
  });
  server.on('connect', (_req, stream) => {
    const socket = stream as Socket;
    socket.on('error', () => socket.destroy()); // Node has taken its own listeners off
    refuse(socket, 405, 'CONNECT');
  });
}

function toStatus({ code, reason }: ParseError): number {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 408;
  if (code === 'HPE_HEADER_OVERFLOW') return 431;
  // HTTP/2 with prior knowledge, or another version; the parser's code for that also stands for a bare LF behind it.
  return code === 'HPE_PAUSED_H2_UPGRADE' || reason === 'Invalid HTTP version' ? 505 : 400;
}
