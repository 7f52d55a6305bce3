import type { IncomingMessage, Server } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';

// This file holds everything that Connection and Shutdown change in Node's HTTP server, which has no API for it. It was checked
// with Node 20.20 and 24.21. The tests in test/app/http/ and test/processes/http/ fail where a version behaves differently
// (docs/decisions/0008).

/** The part of Node's HTTP parser that decides what happens to a request head. Undocumented. */
interface Parser {
  onIncoming: (req: IncomingMessage & { upgrade: boolean }, shouldKeepAlive: boolean) => number;
}

/** Return value of `onIncoming` that stops the parser after this head, as for an upgrade. */
const STOP_PARSING = 2;

/**
 * Drops each request head for which `accepts` returns false, and stops parsing. Node itself would make a request and a response
 * of each head in a packet before any handler runs. For 64 KiB it would keep 5 MB until the connection closes.
 */
export function filterRequests(socket: Socket, accepts: () => boolean): void {
  const { parser } = socket as Socket & { readonly parser: Parser };
  const { onIncoming } = parser;
  parser.onIncoming = (req, shouldKeepAlive) => {
    if (accepts()) return onIncoming(req, shouldKeepAlive);
    req.upgrade = req.method === 'CONNECT'; // with another method Node would destroy the socket
    return STOP_PARSING;
  };
}

/**
 * Replaces how Node closes a connection after a response with `Connection: close`. Node destroys the socket. The kernel then
 * resets a connection with unread bytes, and the reset can overtake the response (RFC 9112 §9.6).
 */
export function replaceDestroySoon(socket: Socket, close: () => void): void {
  socket.destroySoon = close;
}

/**
 * Reads and drops all further input. Detaches the parser, and with it Node's own `resume` listener, which restarts the reads of
 * a paused socket. A flowing socket may be about to resume, so it is paused first.
 */
export function discardInput(socket: Socket): void {
  const isFlowing = socket.readableFlowing === true;
  socket.once('resume', () => socket.removeAllListeners('data').on('data', () => {}));
  if (isFlowing) socket.pause().resume();
}

/**
 * Counts the bytes that the kernel has taken. `socket.bytesWritten` counts a write at once, and `socket.writableLength` until
 * all of it has left.
 */
export function bytesSent(socket: Socket): number {
  const { _handle: handle } = socket as unknown as { readonly _handle: Handle | null };
  return handle === null ? 0 : handle.bytesWritten - handle.writeQueueSize;
}

/** The part of libuv's stream under a socket that tells what is left to send. Undocumented. */
interface Handle {
  readonly bytesWritten: number;
  readonly writeQueueSize: number;
}

/**
 * Stops accepting connections. `http.Server.close()` would also destroy idle connections at once, with a request that may just
 * be arriving.
 */
export function stopListening(server: Server): void {
  NetServer.prototype.close.call(server);
}
