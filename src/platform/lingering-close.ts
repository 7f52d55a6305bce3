import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** Connections that end with an answer which has begun, or is about to. */
const ending = new WeakSet<Socket>();
/** Those of them on which something has come behind it. */
const dropping = new WeakSet<Socket>();

/** Takes up nothing more that comes on a connection: it ends with the answer that is due (RFC 9112 §9.6). */
export function endWithThisAnswer(socket: Socket): void {
  ending.add(socket);
}

/** Whether what comes now on a connection is to be dropped. */
export function isEnding(socket: Socket): boolean {
  return ending.has(socket);
}

/** Reads and drops what comes; nothing of it gets to the parser, and so none of it becomes a request. */
function dropAll(socket: Socket): void {
  socket.removeAllListeners('data'); // the parser's
  socket.on('data', () => {});
}

/**
 * Drops a request that came behind the last answer of its connection, and all that follows it. Not read any further
 * before somebody reads that answer: until then nothing more is made a request, though it would be none of ours.
 */
export function dropBehind(socket: Socket): void {
  socket.pause();
  if (dropping.has(socket)) return;
  dropping.add(socket);
  socket.once('resume', () => dropAll(socket));
}

/** How a server closes its connections. */
export interface LingeringClose {
  /** From now on waits no longer than this, in ms, for clients to close their side. */
  hurry(withinMs: number): void;
}

/**
 * Closes each connection of a server in two steps (RFC 9112 §9.6): our side is ended, and what the client still sends is
 * read and dropped until it closes its own, or for `withinMs`. Closed at once, with bytes unread, the kernel would answer
 * them with a reset, and a reset takes the answer away that the client has not read yet. Watches from before the first
 * connection.
 */
export function createLingeringClose(server: Server, withinMs: number): LingeringClose {
  let mostMs = withinMs;
  const lingering = new Map<Socket, NodeJS.Timeout>();
  const cutOffIn = (socket: Socket, ms: number) => {
    clearTimeout(lingering.get(socket));
    lingering.set(
      socket,
      setTimeout(() => socket.destroy(), ms),
    );
  };

  const linger = (socket: Socket) => {
    if (socket.destroyed || lingering.has(socket)) return;
    endWithThisAnswer(socket);
    cutOffIn(socket, mostMs);
    socket.once('close', () => {
      clearTimeout(lingering.get(socket));
      lingering.delete(socket);
    });
    socket.end();
    // One that waits for a reader is woken by Node's own listener; only behind that its parser can be put aside.
    if (socket.readableFlowing === true) dropAll(socket);
    else socket.once('resume', () => dropAll(socket)).resume();
  };

  server.on('connection', (socket: Socket) => {
    // Node ends a connection by this, once its last answer is written; it would destroy the socket right behind it.
    socket.destroySoon = () => linger(socket);
  });
  return {
    hurry(ms) {
      mostMs = Math.min(mostMs, ms);
      for (const socket of lingering.keys()) cutOffIn(socket, mostMs);
    },
  };
}
