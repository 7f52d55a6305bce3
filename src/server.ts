import { createServer as createHttpServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
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
/** What is left of a body after its answer may take this long to come in, so that the connection can go on. */
const DROP_WITHIN_MS = 30_000;

/** Serves on a bound port: `/api/*` goes straight to the gateway, all else to the Express app. */
export async function startServer(services: Services, bound: BoundPort): Promise<RunningServer> {
  let isDraining = false;
  const gateway = createGateway(services, () => isDraining);
  const app = createApp(services, gateway, () => isDraining);

  const server = createHttpServer({
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: HEADERS_WITHIN_MS,
    connectionsCheckingInterval: LOOK_FOR_SLOW_HEADS_MS,
    requestTimeout: 0, // a large upload takes its time; one that stalls, or that nobody wants, is ended below
  });
  server.maxHeadersCount = 0; // see head.ts
  // Node takes a connection that has asked nothing yet for a busy one.
  const silent = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    silent.add(socket);
    socket.once('close', () => silent.delete(socket));
  });
  server.on('request', (req: IncomingMessage, res: ServerResponse) => {
    const isCall = req.url?.startsWith('/api/') === true;
    if (isDraining) res.setHeader('connection', 'close');
    if (isCall) gateway(req, res);
    else app(req, res);
    silent.delete(req.socket);
    res.once('close', () => {
      // A connection that was busy when the drain began is idle now.
      if (isDraining) setImmediate(() => server.closeIdleConnections());
      else if (!req.complete && !req.socket.destroyed) dropRest(req);
    });
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
      for (const socket of silent) socket.destroy();
      const inTime = await settlesWithin(closed, withinMs);
      if (!inTime) server.closeAllConnections();
      return inTime;
    },
  };
}

/** Reads what nobody wants any more, so that the answer arrives; ends the connection where that takes too long. */
function dropRest(req: IncomingMessage): void {
  const { socket } = req;
  const tooLate = setTimeout(() => socket.destroy(), DROP_WITHIN_MS);
  const done = () => {
    clearTimeout(tooLate);
    socket.off('close', done);
  };
  // A request that is answered hears no more of its socket's end.
  socket.once('close', done);
  req.once('close', done);
  req.resume();
}
