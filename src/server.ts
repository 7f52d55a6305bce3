import { createServer as createHttpServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createApp } from './app.ts';
import { createGateway } from './gateway/gateway.ts';
import { createDrain } from './platform/draining.ts';
import type { Drain } from './platform/draining.ts';
import type { BoundPort } from './platform/listening.ts';
import type { Services } from './services.ts';

/** A server that accepts connections. While it drains it says that it is not ready and answers new calls with 503. */
export interface RunningServer extends Pick<Drain, 'drain'> {
  readonly server: Server;
  /** The address that it listens on, as opposed to the one that browsers use. */
  readonly url: string;
}

/** Idle connections live longer than those of the usual balancers, so that it is they who close them. */
const KEEP_ALIVE_MS = 75_000;
const HEADERS_WITHIN_MS = 20_000;
const LOOK_FOR_SLOW_HEADS_MS = 5_000;
/** What is left of a body after its answer may take this long to come in, so that the connection can go on. */
const DROP_WITHIN_MS = 30_000;
/** How a balancer asks whether it may send calls. */
const READY = /^\/readyz(?:\?|$)/;

/** Serves on a bound port: `/api/*` goes straight to the gateway, all else to the Express app. */
export async function startServer(services: Services, bound: BoundPort): Promise<RunningServer> {
  const server = createHttpServer({
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: HEADERS_WITHIN_MS,
    connectionsCheckingInterval: LOOK_FOR_SLOW_HEADS_MS,
    requestTimeout: 0, // a large upload takes its time; one that stalls, or that nobody wants, is ended below
  });
  server.maxHeadersCount = 0; // see head.ts
  const { isDraining, refuses, drain } = createDrain(server, {
    isCheck: ({ url = '' }) => READY.test(url),
    behindBalancer: services.config.trustProxy > 0,
  });
  const gateway = createGateway(services, ({ socket }) => refuses(socket));
  const app = createApp(services, gateway, isDraining);
  server.on('request', (req: IncomingMessage, res: ServerResponse) => {
    const isCall = req.url?.startsWith('/api/') === true;
    if (isCall) gateway(req, res);
    else app(req, res);
    res.once('close', () => {
      if (!isDraining() && !req.complete && !req.socket.destroyed) dropRest(req);
    });
  });
  server.on('connect', (_req, socket) => {
    socket.on('error', () => socket.destroy()); // Node hands the socket over, and with it its errors
    socket.end('HTTP/1.1 405 Method Not Allowed\r\nConnection: close\r\n\r\n');
  });

  await bound.handOver(server);
  return { server, url: bound.url, drain };
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
