import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Closes the connections of those who read nothing of an answer for `withinMs`, so that they hold neither it nor a call
 * for ever. The clock is the socket's own: it begins anew with whatever is taken of what waits, or comes in. With a
 * listener Node leaves all that is silent to us: idle connections (`isIdle`) end as they would; a call that waits for its
 * answer goes on, and half a request is a matter of `headersTimeout` and `requestTimeout`.
 */
export function closeSlowReaders(
  server: Server,
  withinMs: number,
  isIdle: (socket: Socket) => boolean,
): void {
  server.setTimeout(withinMs, (socket) => {
    if (socket.writableLength > 0 || isIdle(socket)) socket.destroy();
  });
}
