import { createServer as createHttpServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createApp } from './app.ts';
import { createGateway } from './gateway/gateway.ts';
import { badRequestTarget } from './gateway/problems.ts';
import { serverTimingOf } from './gateway/server-timing.ts';
import { createDrain } from './platform/draining.ts';
import type { Drain } from './platform/draining.ts';
import { continueWhenRead, declineUpgrade, expectEarlyAnswer } from './platform/early-answers.ts';
import { createLingeringClose, dropBehind, endWithThisAnswer } from './platform/lingering-close.ts';
import type { BoundPort } from './platform/listening.ts';
import { sendProblem } from './platform/problem.ts';
import { judgeFraming } from './platform/request-framing.ts';
import { toStrictTransport } from './platform/security-headers.ts';
import { closeSlowReaders } from './platform/slow-readers.ts';
import { answerUnreadable } from './platform/unreadable-requests.ts';
import type { Services } from './services.ts';

/** A server that accepts connections. While it drains it says that it is not ready and answers new calls with 503. */
export interface RunningServer extends Pick<Drain, 'drain'> {
  readonly server: Server;
  /** The address that it listens on, as opposed to the one that browsers use. */
  readonly url: string;
}

/** How often Node looks for requests that take too long. */
const LOOK_FOR_SLOW_MS = 500;
/** In a drain nobody is waited for longer whose answer is written, but who does not close the connection. */
const LINGER_IN_DRAIN_MS = 2_000;
/**
 * A path, or what asks of the server as a whole (RFC 9112 §3.2). All else Express would have read by url.parse(), which finds
 * pages in it, and may print the whole of it as a warning.
 */
const NAMES_A_PATH = /^(?:\/[^#]*|\*)$/;
/** How a balancer asks whether it may send calls. */
const READY = /^\/readyz(?:\?|$)/;

/**
 * Serves on a bound port: `/api/*` goes straight to the gateway, all else to the Express app. What is no readable request
 * gets to neither.
 */
export async function startServer(services: Services, bound: BoundPort): Promise<RunningServer> {
  const { config, requests } = services;
  const requestMs = config.clientRequestSeconds * 1_000;
  const lingerMs = config.clientLingerSeconds * 1_000;
  const server = createHttpServer({
    keepAliveTimeout: config.clientIdleSeconds * 1_000,
    headersTimeout: Math.min(config.clientHeadSeconds * 1_000, requestMs),
    requestTimeout: requestMs,
    connectionsCheckingInterval: LOOK_FOR_SLOW_MS,
    requireHostHeader: false, // judgeFraming() does: Node would go on with what is pipelined behind
  });
  server.maxHeadersCount = 0; // see request-framing.ts
  const lingering = createLingeringClose(server, lingerMs);
  const { isDraining, refuses, isIdle, lastDue, drain } = createDrain(server, {
    // What has come through a proxy is no check of the proxy's own: anybody may ask us through it.
    isCheck: ({ url = '', headers }) =>
      READY.test(url) && (config.trustProxy === 0 || headers['x-forwarded-for'] === undefined),
    behindBalancer: config.trustProxy > 0,
    // Nobody else has our cookie. It is not asked whether its session lives: Redis may be away.
    isOwed: ({ headers }) => services.cookie.read(headers.cookie) !== null,
    readWithinMs: LINGER_IN_DRAIN_MS,
  });
  closeSlowReaders(server, {
    withinMs: config.serviceTimeoutSeconds * 1_000,
    headWithinMs: config.clientHeadSeconds * 1_000,
    isIdle,
    isWaiting: (socket) => lastDue(socket) !== undefined,
  });
  const strictTransport = toStrictTransport(config.publicOrigin.startsWith('https:'));
  // Nobody knows what it was that could not be read: it may have been a call.
  const headersOf = (res: ServerResponse) => ({ ...strictTransport, 'server-timing': serverTimingOf(res) });
  const gateway = createGateway(services, ({ socket }) => refuses(socket));
  const app = createApp(services, gateway, isDraining);
  server.on('request', (req: IncomingMessage, res: ServerResponse) => {
    if (lastDue(req.socket) !== res) {
      dropBehind(req.socket);
      return;
    }
    expectEarlyAnswer(req, res, lingerMs);
    declineUpgrade(req, res);
    if (req.url?.startsWith('/api/') === true) {
      gateway(req, res); // judges the framing itself
      return;
    }
    const target = req.url ?? '';
    const fault = judgeFraming(req);
    if (fault !== null) endWithThisAnswer(req.socket);
    const refusal = fault ?? (NAMES_A_PATH.test(target) ? null : badRequestTarget());
    if (refusal === null) {
      app(req, res);
      return;
    }
    requests.begin(req, res, target);
    res.setHeaders(new Map(Object.entries(headersOf(res))));
    sendProblem(res, refusal);
  });
  continueWhenRead(server);
  answerUnreadable(server, { requests, lastDue, headersOf });

  await bound.handOver(server);
  return {
    server,
    url: bound.url,
    async drain(withinMs) {
      lingering.hurry(Math.min(LINGER_IN_DRAIN_MS, withinMs / 2));
      return drain(withinMs);
    },
  };
}
