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

/** How often Node checks for requests that have timed out, in ms. */
const CHECK_TIMEOUTS_MS = 500;
/**
 * A path, or `*` for the server itself (RFC 9112 §3.2). Express would pass any other form to url.parse(), which could extract
 * the path of a page from it, or print it in a warning.
 */
const PATH_OR_ASTERISK = /^(?:\/[^#]*|\*)$/;
const READINESS_CHECK = /^\/readyz(?:\?|$)/;

/**
 * Serves on a bound port: `/api/*` goes straight to the gateway, everything else to the Express app. Neither receives malformed
 * HTTP requests. Tests use a shorter `checkTimeoutsMs`.
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
    silenceMs: config.serviceTimeoutSeconds * 1_000,
    behindLoadBalancer: config.trustProxy > 0,
    // A proxy forwards any client's request for /readyz, so only a request that it did not forward is its own check.
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
    // Discard the body, because pages never use it. While a handler waits for Redis, Node would keep each chunk as an object.
    req.resume();
    app(req, res);
  });
  return {
    server: http.server,
    /** The URL that the server listens on, as opposed to the one that browsers use. */
    url: bound.url,
    /** Shuts the server down. Resolves to true if that took at most `withinMs`. API requests that arrive late get a 503. */
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
