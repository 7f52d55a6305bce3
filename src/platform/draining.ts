import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { createDeferred } from './deferred.ts';
import { settlesWithin } from './durations.ts';

/** The end of a server that loses no call. */
export interface Drain {
  readonly isDraining: () => boolean;
  /**
   * Takes no new connection, lets the calls under way finish, and resolves when all connections are closed. Resolves
   * false where that took longer than `withinMs` and the rest was cut off.
   */
  readonly drain: (withinMs: number) => Promise<boolean>;
}

/** Watches a server from before its first connection, and before whoever answers its requests. */
export function createDrain(server: Server): Drain {
  let isDraining = false;
  // How many answers each connection still waits for. The server's own count misses connections that were handed to
  // it and those of CONNECT, and takes for busy what has asked nothing yet, or half of it.
  const answersDue = new Map<Socket, number>();
  const empty = createDeferred<void>();
  server.on('connection', (socket: Socket) => {
    answersDue.set(socket, 0);
    socket.once('close', () => {
      answersDue.delete(socket);
      if (isDraining && answersDue.size === 0) empty.resolve();
    });
  });
  server.on('request', ({ socket }, res) => {
    answersDue.set(socket, (answersDue.get(socket) ?? 0) + 1);
    if (isDraining) res.setHeader('connection', 'close');
    res.once('close', () => {
      const due = answersDue.get(socket);
      if (due === undefined) return;
      answersDue.set(socket, due - 1);
      // The answer is on its way, and may be followed by that to a request behind it.
      if (isDraining) setImmediate(() => answersDue.get(socket) === 0 && socket.destroySoon());
    });
  });

  return {
    isDraining: () => isDraining,
    async drain(withinMs) {
      isDraining = true;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      if (answersDue.size === 0) empty.resolve();
      for (const [socket, due] of answersDue) if (due === 0) socket.destroy();
      const inTime = await settlesWithin(Promise.all([closed, empty.promise]), withinMs);
      for (const socket of answersDue.keys()) socket.destroy();
      return inTime;
    },
  };
}
