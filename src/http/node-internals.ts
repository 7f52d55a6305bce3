import type { IncomingMessage, Server } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';

// Changes to Node's HTTP server for which there is no public API, checked with Node 20.20 and 24.21. The tests in test/app/http/ and
// test/processes/http/ fail if Node behaves differently in another version (docs/decisions/0008).

/** The part of Node's HTTP parser that decides what happens to a request head. Undocumented. */
interface Parser {
  onIncoming: (req: IncomingMessage & { upgrade: boolean }, shouldKeepAlive: boolean) => number;
}

/** Return value of `onIncoming` that stops the parser after a request head, as for an upgrade. */
const STOP_PARSING = 2;

/**
 * Drops the first request head for which `accepts` returns false, and stops parsing. Otherwise, Node would create a request and
 * a response for every head in a packet. A packet of 64 KiB would then occupy 5 MB of memory until the connection closes.
 */
export function filterRequests(socket: Socket, accepts: () => boolean): void {
  const { parser } = socket as Socket & { readonly parser: Parser };
  const { onIncoming } = parser;
  parser.onIncoming = (req, shouldKeepAlive) => {
    if (accepts()) return onIncoming(req, shouldKeepAlive);
    req.upgrade = req.method === 'CONNECT'; // if true for any other method, Node would destroy the socket
    return STOP_PARSING;
  };
}

/**
 * Changes how Node closes a connection after a response that says `Connection: close`. By default, Node destroys the socket. If the
 * socket has unread bytes, the kernel then resets the connection, and the reset can overtake the response (RFC 9112 §9.6).
 */
export function replaceDestroySoon(socket: Socket, close: () => void): void {
  socket.destroySoon = close;
}

/**
 * Reads and drops all further input. Detaching the parser also removes Node's `resume` listener, which restarts a paused socket. The parser
 * is therefore detached on the next `resume`, and a flowing socket is paused and resumed to trigger that event.
 */
export function discardInput(socket: Socket): void {
  const isFlowing = socket.readableFlowing === true;
  socket.once('resume', () => socket.removeAllListeners('data').on('data', () => {}));
  if (isFlowing) socket.pause().resume();
}

/**
 * Returns the number of bytes that the kernel has accepted. `socket.bytesWritten` counts a write immediately, and
 * `socket.writableLength` drops only once the entire write has been accepted.
 */
export function bytesSent(socket: Socket): number {
  const { _handle: handle } = socket as unknown as { readonly _handle: Handle | null };
  return handle === null ? 0 : handle.bytesWritten - handle.writeQueueSize;
}

/** The part of a socket's libuv stream that shows how many bytes are left to send. Undocumented. */
interface Handle {
  readonly bytesWritten: number;
  readonly writeQueueSize: number;
}

/**
 * Stops accepting connections. `http.Server.close()` would also destroy idle connections on which a request may be arriving.
 */
export function stopListening(server: Server): void {
  NetServer.prototype.close.call(server);
}
