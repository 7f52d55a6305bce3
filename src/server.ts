import { createServer as createHttpServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createApp } from './app.ts';
import { createGateway } from './gateway/gateway.ts';
import { settlesWithin } from './platform/durations.ts';
import type { BoundPort } from './platform/listening.ts';
import type { Services } from './services.ts';

/** A server that accepts connections. */
export interface RunningServer {
  readonly server: Server;
  /** The address that it listens on, as opposed to the one that browsers use. */
  readonly url: string;
  /**
   * Says that it is not ready, answers new calls with 503, lets those under way finish, and resolves when all
   * connections are closed. Resolves false where that took longer than `withinMs` and the rest was cut off.
   */
  drain(withinMs: number): Promise<boolean>;
}

/** Idle connections live longer than those of the usual balancers, so that it is they who close them. */
const KEEP_ALIVE_MS = 75_000;
const HEADERS_WITHIN_MS = 20_000;
const LOOK_FOR_SLOW_HEADS_MS = 5_000;

/** Serves on a bound port: `/api/*` goes straight to the gateway, all else to the Express app. */
export async function startServer(services: Services, bound: BoundPort): Promise<RunningServer> {
  let isDraining = false;
  const gateway = createGateway(services, () => isDraining);
  const app = createApp(services, gateway, () => isDraining);

  const server = createHttpServer({
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: HEADERS_WITHIN_MS,
    connectionsCheckingInterval: LOOK_FOR_SLOW_HEADS_MS,
  });
  server.requestTimeout = 0; // a large upload takes its time; the gateway ends one that stalls
  server.maxHeadersCount = 0; // see admission.ts
  server.on('request', (req: IncomingMessage, res: ServerResponse) => {
    const isCall = req.url?.startsWith('/api/') === true;
    if (isDraining) res.setHeader('connection', 'close');
    if (isCall) gateway(req, res);
    else app(req, res);
    // A connection that was busy when the drain began is idle now.
    res.once('close', () => isDraining && setImmediate(() => server.closeIdleConnections()));
  });
  server.on('connect', (_req, socket) => {
    socket.on('error', () => socket.destroy()); // Node hands the socket over, and with it its errors
    socket.end('HTTP/1.1 405 Method Not Allowed\r\nConnection: close\r\n\r\n');
  });

  await new Promise<void>((resolve) => server.listen(bound.socket, resolve));
  return {
    server,
    url: bound.url,
    async drain(withinMs) {
      isDraining = true;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      const inTime = await settlesWithin(closed, withinMs);
      if (!inTime) server.closeAllConnections();
      return inTime;
    },
  };
}
