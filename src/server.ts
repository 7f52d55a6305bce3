import { createApp } from './app.ts';
import { AppError } from './errors.ts';
import { createGateway } from './gateway/handler.ts';
import { HttpServer } from './http/http-server.ts';
import { bindPort, type BoundPort } from './http/listening.ts';
import { sendProblem } from './http/problem.ts';
import { checkFraming } from './http/request-framing.ts';
import { toStrictTransport } from './http/security-headers.ts';
import { startMetricsServer } from './observability/metrics-server.ts';
import type { Services } from './services.ts';

export type RunningServer = Awaited<ReturnType<typeof startServer>>;

/** Interval at which Node checks for timed-out requests, in ms. */
const CHECK_TIMEOUTS_MS = 500;
/**
 * Matches a path, or `*` for the server itself (RFC 9112 §3.2). Express would pass any other target to url.parse(), which could
 * extract a page path from the target or print the target in a warning.
 */
const PATH_OR_ASTERISK = /^(?:\/[^#]*|\*)$/;
const READINESS_CHECK = /^\/readyz(?:\?|$)/;

/**
 * Serves requests on a bound port. `/api/*` goes straight to the gateway, everything else to the Express app. Tests use a
 * shorter `checkTimeoutsMs`.
 */
export async function startServer(services: Services, bound: BoundPort, checkTimeoutsMs = CHECK_TIMEOUTS_MS) {
  const { config, log, accessLog } = services;
  const requestMs = config.clientRequestSeconds * 1_000;
  const http = new HttpServer({
    log,
    limits: {
      headersTimeout: Math.min(config.clientHeadSeconds * 1_000, requestMs),
      requestTimeout: requestMs,
      keepAliveTimeout: config.clientIdleSeconds * 1_000,
      connectionsCheckingInterval: checkTimeoutsMs,
    },
    lingerMs: config.clientLingerSeconds * 1_000,
    unreadMs: config.serviceTimeoutSeconds * 1_000,
    behindLoadBalancer: config.trustProxy > 0,
    // A proxy also forwards clients' requests for /readyz. Only requests without X-Forwarded-For are the proxy's own checks.
    isReadinessCheck: ({ url = '', headers }) =>
      READINESS_CHECK.test(url) && (config.trustProxy === 0 || headers['x-forwarded-for'] === undefined),
  });
  const gateway = createGateway(services, (req) => http.refuses(req));
  const app = createApp(services, gateway, () => http.isDraining);
  const strictTransport = new Map(Object.entries(toStrictTransport(config.isHttps)));

  await http.listen(bound, (req, res) => {
    const target = req.url ?? '';
    if (target.startsWith('/api/')) {
      gateway(req, res); // checks the framing itself
      return;
    }
    const refusal =
      checkFraming(req) ?? (PATH_OR_ASTERISK.test(target) ? null : new AppError('bad_request_target'));
    if (refusal !== null) {
      accessLog.track(req, res, target);
      sendProblem(res.setHeaders(strictTransport), refusal);
      return;
    }
    // Pages never use the request body, so discard it. Otherwise, Node would keep each chunk while a handler waits for Redis.
    req.resume();
    app(req, res);
  });
  return {
    server: http.server,
    /** The URL at which the server listens, as opposed to PUBLIC_URL. */
    url: bound.url,
    /** Shuts the server down. Resolves to true if the shutdown took at most `withinMs`. */
    drain: async (withinMs: number) => http.drain(withinMs),
  };
}

/** Serves the metrics on METRICS_PORT. Resolves with null if metrics are off. */
export async function startMetrics({ config, log, metrics }: Services) {
  if (metrics === null) return null;
  const bound = await bindPort(config.host, config.metricsPort, 'METRICS_');
  const server = await startMetricsServer(metrics.registry, bound);
  log.info({ url: server.url }, 'metrics listening');
  return server;
}
