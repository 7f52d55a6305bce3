import type { Server } from 'node:http';
import type { Socket } from 'node:net';

export interface SlowReadersOptions {
  /** Of an answer that waits, something must be taken within this time. */
  readonly withinMs: number;
  /** Node gives a head this time to come in, from its first byte. */
  readonly headWithinMs: number;
  /** Whether a connection has had all its answers, and nothing has come since. */
  readonly isIdle: (socket: Socket) => boolean;
  /** Whether a connection waits for an answer. */
  readonly isWaiting: (socket: Socket) => boolean;
}

/** Node looks at heads twice a second. */
const MARGIN_MS = 1_000;

/**
 * Closes the connections of those who read nothing of an answer for a time, so that they hold neither it nor a call for
 * ever. The clock is the socket's own: it begins anew with whatever is taken of what waits, or comes in. With a listener
 * Node leaves all that is silent to us: idle connections end as they would, and a call that waits for its answer goes on.
 * Half a head is Node's matter; but line breaks ahead of one begin none, and would keep their connection for ever.
 */
export function closeSlowReaders(server: Server, options: SlowReadersOptions): void {
  const { withinMs, headWithinMs, isIdle, isWaiting } = options;
  const bytesSeen = new WeakMap<Socket, number>();

  server.setTimeout(withinMs, (socket) => {
    if (socket.writableLength > 0 || isIdle(socket)) {
      socket.destroy();
    } else if (!isWaiting(socket)) {
      if (bytesSeen.get(socket) === socket.bytesRead) socket.destroy();
      bytesSeen.set(socket, socket.bytesRead);
      socket.setTimeout(headWithinMs + MARGIN_MS);
    }
  });
}
