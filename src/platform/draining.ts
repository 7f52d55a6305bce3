import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Server as NetServer } from 'node:net';
import type { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { createBalancerWatch } from './balancer-watch.ts';
import { createDeferred } from './deferred.ts';
import { MOST_DUE, closeQueued, hasSaidLast, makeLast, sayLast, takeOut } from './due-answers.ts';
import { settlesWithin } from './durations.ts';
import { cutOffSlowReaders } from './last-readers.ts';
import { endWithThisAnswer, isEnding } from './lingering-close.ts';

/** The end of a server that loses no call. */
export interface Drain {
  readonly isDraining: () => boolean;
  /**
   * Whether the request that came last on a connection is a new call. The first one on a connection that was opened
   * just before the drain, or since, is not: it was under way.
   */
  readonly refuses: (socket: Socket) => boolean;
  /** Whether a connection has had all its answers, and nothing has come since. */
  readonly isIdle: (socket: Socket) => boolean;
  /** The last answer that is due on a connection. */
  readonly lastDue: (socket: Socket) => ServerResponse | undefined;
  /**
   * Lets the calls under way finish, and resolves when all connections are closed. Resolves false where that took
   * longer than `withinMs` and the rest was cut off. Where a balancer checks regularly whether we are ready, new
   * connections are taken until it has been told; elsewhere no longer.
   */
  readonly drain: (withinMs: number) => Promise<boolean>;
}

interface DrainOptions {
  /** Tells the requests that ask whether we are ready. */
  readonly isCheck?: (req: IncomingMessage) => boolean;
  /** Whether those who connect are balancers: they may keep idle connections, and know what to do when one closes. */
  readonly behindBalancer?: boolean;
  /** Tells the requests of those who are given all the time to read their answers. */
  readonly isOwed?: (req: IncomingMessage) => boolean;
  /** In a drain all others have this time, at most half of it all, to read what is written. */
  readonly readWithinMs?: number;
}

/** What somebody has sent, or is about to send without knowing better, arrives within this time. */
const MOMENT_MS = 500;
/** For so much of the time to drain new connections are taken at most. */
const OPEN_SHARE = 1 / 3;

interface Connection {
  /** Answers that it waits for. The server itself takes for busy what has asked nothing yet, or half of it. */
  readonly due: ServerResponse[];
  asked: number;
  /** What had been read of it when its last answer was over. */
  bytesBefore: number;
  /** By performance.now(), as all times here. */
  readonly openedAt: number;
}

/**
 * Watches a server from before its first connection, and before whoever answers its requests. A request whose answer is
 * not the last one due then has come behind the end of its connection: it is for dropBehind().
 */
export function createDrain(server: Server, options: DrainOptions = {}): Drain {
  const {
    isCheck = () => false,
    behindBalancer = false,
    isOwed = () => true,
    readWithinMs = Infinity,
  } = options;
  let drainingSince = Infinity;
  const isDraining = () => drainingSince < Infinity;
  const balancer = createBalancerWatch();
  // The server's own list misses connections that were handed to it, and those of CONNECT.
  const connections = new Map<Socket, Connection>();
  const empty = createDeferred<void>();
  const endIfIdle = (socket: Socket) => connections.get(socket)?.due.length === 0 && socket.destroySoon();
  // Where it was we who were held up, what was sent is here, and is read first.
  const endInAMoment = (socket: Socket) =>
    setTimeout(() => setImmediate(endIfIdle, socket), MOMENT_MS).unref();
  // A balancer takes the end of an idle connection for "go elsewhere", and a 503 for the answer. Everyone else is told.
  const endKept = behindBalancer ? endIfIdle : endInAMoment;

  server.on('connection', (socket: Socket) => {
    const due: ServerResponse[] = [];
    connections.set(socket, { due, asked: 0, bytesBefore: -1, openedAt: performance.now() });
    socket.once('close', () => {
      connections.delete(socket);
      setImmediate(closeQueued, due);
      if (isDraining() && connections.size === 0) empty.resolve();
    });
  });
  server.on('request', (req: IncomingMessage, res: ServerResponse) => {
    const connection = connections.get(req.socket);
    if (connection === undefined) return;
    if (hasSaidLast(connection.due)) endWithThisAnswer(req.socket);
    if (isEnding(req.socket)) return;
    connection.asked += 1;
    connection.due.push(res);
    if (isDraining() || connection.due.length >= MOST_DUE) makeLast(req.socket, connection.due);
    if (!isCheck(req)) balancer.called();
    else {
      balancer.checked();
      if (isDraining()) res.once('finish', balancer.told);
    }
    res.on('close', () => {
      takeOut(connection.due, res);
      connection.bytesBefore = req.socket.bytesRead;
      if (isDraining()) endKept(req.socket);
    });
  });

  /** Whether all that a connection waits for is written, and nobody is owed the time to read it. */
  const isOnlyRead = (socket: Socket) => {
    const due = connections.get(socket)?.due ?? [];
    return due.length > 0 && due.every((res) => res.writableEnded && !isOwed(res.req));
  };

  /** Whether a connection was opened for a call that has not come yet. */
  const isFresh = ({ openedAt }: Connection) => openedAt > drainingSince - MOMENT_MS;

  return {
    isDraining,
    refuses(socket) {
      const connection = connections.get(socket);
      return isDraining() && !(connection?.asked === 1 && isFresh(connection));
    },
    isIdle(socket) {
      const connection = connections.get(socket);
      return connection?.due.length === 0 && connection.bytesBefore === socket.bytesRead;
    },
    lastDue: (socket) => connections.get(socket)?.due.at(-1),
    async drain(withinMs) {
      drainingSince = performance.now();
      const readMs = Math.min(readWithinMs, withinMs / 2);
      const readers = cutOffSlowReaders(() => connections.keys(), isOnlyRead, readMs);
      for (const [socket, connection] of connections) {
        sayLast(connection.due);
        if (connection.asked > 0 || !isFresh(connection)) endKept(socket);
      }
      await balancer.untilGone(MOMENT_MS, drainingSince + withinMs * OPEN_SHARE);

      // Not http.Server's own: that cuts off at once who may be asking just now.
      const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
      if (connections.size === 0) empty.resolve();
      for (const socket of connections.keys()) endInAMoment(socket);
      const leftMs = drainingSince + withinMs - performance.now();
      const inTime = await settlesWithin(Promise.all([closed, empty.promise]), leftMs);
      readers.stop();
      // Whoever works for one of them learns that it is cut off before anything that it works with is taken away.
      await Promise.all([...connections.keys()].map(cutConnection));
      await turn();
      return inTime;
    },
  };
}

async function cutConnection(socket: Socket): Promise<void> {
  await new Promise((resolve) => socket.once('close', resolve).destroy());
}
