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
  // The server counts only those that it has accepted itself, and not those that were handed to it.
  const open = new Set<Socket>();
  // Node takes a connection that has asked nothing yet for a busy one.
  const silent = new Set<Socket>();
  const empty = createDeferred<void>();
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    silent.add(socket);
    socket.once('close', () => {
      open.delete(socket);
      silent.delete(socket);
      if (isDraining && open.size === 0) empty.resolve();
    });
  });
  server.on('request', (req, res) => {
    silent.delete(req.socket);
    if (isDraining) res.setHeader('connection', 'close');
    res.once('close', () => {
      // A connection that was busy when the drain began is idle now.
      if (isDraining) setImmediate(() => server.closeIdleConnections());
    });
  });

  return {
    isDraining: () => isDraining,
    async drain(withinMs) {
      isDraining = true;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      if (open.size === 0) empty.resolve();
      server.closeIdleConnections();
      for (const socket of silent) socket.destroy();
      const inTime = await settlesWithin(Promise.all([closed, empty.promise]), withinMs);
      for (const socket of open) socket.destroy();
      return inTime;
    },
  };
}
