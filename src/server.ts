import { createServer as createHttpServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createApp } from './app.ts';
import { createGateway } from './gateway/handler.ts';
import { AppError } from './errors.ts';
import { refuseBadRequests } from './http/bad-requests.ts';
import { continueOnRead, trackConnections } from './http/connection.ts';
import { createShutdown } from './http/shutdown.ts';
import type { Shutdown } from './http/shutdown.ts';
import type { BoundPort } from './http/listening.ts';
import { sendProblem } from './http/problem.ts';
import { judgeFraming } from './http/request-framing.ts';
import { toStrictTransport } from './http/security-headers.ts';
import type { Services } from './services.ts';

/** A server that accepts connections. While it drains it says that it is not ready, and new requests get a 503. */
export interface RunningServer extends Pick<Shutdown, 'drain'> {
  readonly server: Server;
  /** The address that it listens on, as opposed to the one that browsers use. */
  readonly url: string;
}

/** How often Node looks for requests that take too long. */
const CHECK_TIMEOUTS_MS = 500;
/**
 * A path, or `*` for the server as a whole (RFC 9112 §3.2). Express would read any other form with url.parse(), which finds
 * pages in it, and may print it as a warning.
 */
const NAMES_A_PATH = /^(?:\/[^#]*|\*)$/;
/** How a load balancer asks whether it may send requests. */
const READY = /^\/readyz(?:\?|$)/;

/**
 * Serves on a bound port: `/api/*` goes straight to the gateway, everything else to the Express app. Bytes that are no
 * HTTP request reach neither. `checkTimeoutsMs` is how often a client's time is looked at; tests look more often.
 */
export async function startServer(
  services: Services,
  bound: BoundPort,
  checkTimeoutsMs = CHECK_TIMEOUTS_MS,
): Promise<RunningServer> {
  const { config, log, accessLog } = services;
  const requestMs = config.clientRequestSeconds * 1_000;
  const server = createHttpServer({
    keepAliveTimeout: config.clientIdleSeconds * 1_000,
    headersTimeout: Math.min(config.clientHeadSeconds * 1_000, requestMs),
    requestTimeout: requestMs,
    connectionsCheckingInterval: checkTimeoutsMs,
    requireHostHeader: false, // judgeFraming() checks it, and closes the connection
  });
  server.maxHeadersCount = 0; // see request-framing.ts
  const connections = trackConnections(
    server,
    config.clientLingerSeconds * 1_000,
    config.serviceTimeoutSeconds * 1_000,
  );
  refuseBadRequests(server, connections, log);
  continueOnRead(server);
  const shutdown = createShutdown(server, connections, {
    // A check through a proxy is not the proxy's own: any client may send it.
    isCheck: ({ url = '', headers }) =>
      READY.test(url) && (config.trustProxy === 0 || headers['x-forwarded-for'] === undefined),
    behindBalancer: config.trustProxy > 0,
  });
  const strictTransport = toStrictTransport(config.publicOrigin.startsWith('https:'));
  const gateway = createGateway(services, ({ socket }) => {
    const connection = connections.get(socket);
    return connection !== undefined && shutdown.refuses(connection);
  });
  const app = createApp(services, gateway, shutdown.isDraining);

  const handle = (req: IncomingMessage, res: ServerResponse) => {
    const target = req.url ?? '';
    if (target.startsWith('/api/')) {
      gateway(req, res); // judges the framing itself
      return;
    }
    const refusal =
      judgeFraming(req) ?? (NAMES_A_PATH.test(target) ? null : new AppError('bad_request_target'));
    if (refusal === null) {
      // No page uses a body. Node keeps each chunk of it as an object, and a handler may wait for Redis.
      req.resume();
      app(req, res);
      return;
    }
    accessLog.track(req, res, target);
    res.setHeaders(new Map(Object.entries(strictTransport)));
    sendProblem(res, refusal);
  };
  server.on('request', (req: IncomingMessage, res: ServerResponse) => {
    const connection = connections.get(req.socket);
    connection?.begin(req, res, () => {
      shutdown.watch(connection, req, res);
      handle(req, res);
    });
  });

  await bound.handOver(server);
  return { server, url: bound.url, drain: shutdown.drain };
}
