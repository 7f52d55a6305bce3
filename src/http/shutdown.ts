import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Server as NetServer } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { createBalancerWatch } from './load-balancer-watch.ts';
import { createDeferred, settlesWithin } from '../promises.ts';
import type { Connection, Connections } from './connection.ts';

/** Shuts a server down without losing a request. */
export interface Shutdown {
  readonly isDraining: () => boolean;
  /** Hears of each request that a connection has begun. */
  readonly watch: (connection: Connection, req: IncomingMessage, res: ServerResponse) => void;
  /**
   * Whether the request that a connection has begun came too late. The first one on a connection that was opened just
   * before the drain, or since, did not: the client could not know.
   */
  readonly refuses: (connection: Connection) => boolean;
  /**
   * Lets requests in progress finish, and resolves when all connections are closed. Resolves false where that took longer
   * than `withinMs` and the rest was destroyed. Where a load balancer polls readiness, the server accepts new connections
   * until the load balancer has been told; elsewhere it stops at once.
   */
  readonly drain: (withinMs: number) => Promise<boolean>;
}

interface ShutdownOptions {
  /** Recognises a readiness check. */
  readonly isCheck?: (req: IncomingMessage) => boolean;
  /** Whether clients are load balancers, which keep idle connections and retry when one closes. */
  readonly behindBalancer?: boolean;
}

/** A client that sends before it knows of the drain is heard within this time. */
const GRACE_MS = 500;
/** The share of the drain during which new connections are accepted at most. */
const OPEN_SHARE = 1 / 3;
/** A closing connection waits no longer than this for the client, or half of the drain. */
const LINGER_MS = 2_000;

export function createShutdown(
  server: Server,
  connections: Connections,
  options: ShutdownOptions = {},
): Shutdown {
  const { isCheck = () => false, behindBalancer = false } = options;
  let drainingSince = Infinity;
  const isDraining = () => drainingSince < Infinity;
  const balancer = createBalancerWatch();
  const empty = createDeferred<void>();
  const closeIfIdle = (connection: Connection) => {
    if (!connection.isResponding) connection.close();
  };
  // Input that arrived while this process was held up is read first.
  const closeAfterGrace = (connection: Connection) =>
    setTimeout(() => setImmediate(closeIfIdle, connection), GRACE_MS).unref();
  // A load balancer retries when an idle connection closes, and passes a 503 on. Other clients get the 503.
  const closeIdle = behindBalancer ? closeIfIdle : closeAfterGrace;
  /** Whether the client opened the connection for a request that has not come yet. */
  const isFresh = ({ openedAt }: Connection) => openedAt > drainingSince - GRACE_MS;

  server.on('connection', (socket) => {
    socket.once('close', () => {
      if (isDraining() && connections.size === 0) empty.resolve();
    });
  });

  return {
    isDraining,
    watch(connection, req, res) {
      if (isDraining()) connection.announceClose();
      if (!isCheck(req)) balancer.called();
      else {
        balancer.checked();
        if (isDraining()) res.once('finish', balancer.told);
      }
      res.once('close', () => isDraining() && closeIdle(connection));
    },
    refuses: (connection) => isDraining() && !(connection.requestCount === 1 && isFresh(connection)),
    async drain(withinMs) {
      drainingSince = performance.now();
      connections.shortenLinger(Math.min(LINGER_MS, withinMs / 2));
      for (const connection of connections) {
        if (connection.isResponding) connection.announceClose();
        else if (connection.requestCount > 0 || !isFresh(connection)) closeIdle(connection);
      }
      await balancer.untilGone(GRACE_MS, drainingSince + withinMs * OPEN_SHARE);

      // Not http.Server's close(): that destroys idle connections at once, with a request that may just be arriving.
      const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
      if (connections.size === 0) empty.resolve();
      for (const connection of connections) closeAfterGrace(connection);
      const leftMs = drainingSince + withinMs - performance.now();
      const inTime = await settlesWithin(Promise.all([closed, empty.promise]), leftMs);
      // Handlers learn that their client is gone before their dependencies are closed.
      await Promise.all([...connections].map(destroy));
      await turn();
      return inTime;
    },
  };
}

async function destroy({ socket }: Connection): Promise<void> {
  await new Promise((resolve) => socket.once('close', resolve).destroy());
}
