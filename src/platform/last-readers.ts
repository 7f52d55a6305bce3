import type { Socket } from 'node:net';

/** How often it is looked who still reads. */
const LOOK_MS = 100;

/**
 * Cuts off connections that have waited for nothing but their reader for longer than `withinMs`, from now on until it is
 * told to stop. The sockets may close meanwhile.
 */
export function cutOffSlowReaders(
  sockets: () => Iterable<Socket>,
  isOnlyRead: (socket: Socket) => boolean,
  withinMs: number,
): { stop(): void } {
  const since = new WeakMap<Socket, number>();
  const look = () => {
    const now = performance.now();
    for (const socket of sockets()) {
      const began = since.get(socket) ?? now;
      if (!isOnlyRead(socket)) since.delete(socket);
      else if (now - began > withinMs) socket.destroy();
      else since.set(socket, began);
    }
  };
  look();
  const looking = setInterval(look, LOOK_MS);
  return { stop: () => clearInterval(looking) };
}
