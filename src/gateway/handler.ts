import type { IncomingMessage, RequestListener } from 'node:http';
import type { Config } from '../config/load.ts';
import { AppError, SessionEndedError, toAppError } from '../errors.ts';
import type { AccessLog } from '../http/access-log.ts';
import { abortResponse, sendProblem } from '../http/problem.ts';
import { toStrictTransport } from '../http/security-headers.ts';
import type { TokenProvider } from '../oauth/refresh/token-provider.ts';
import type { VerifiedCookie, SessionCookie } from '../session/cookie.ts';
import { sessionLogId } from '../session/events.ts';
import type { Session } from '../session/record.ts';
import type { SessionStore } from '../session/store.ts';
import type { ConnectionPool } from '../upstream/connection-pool.ts';
import type { RecordServiceResponse } from '../upstream/service-metrics.ts';
import { RequestAbortedError, createApiRequest, endApiRequest, type ApiRequest } from './api-request.ts';
import { checkHead } from './checks.ts';
import { createConcurrencyLimits, type RequestSlot } from './concurrency.ts';
import type { GatewayMetrics } from './gateway-metrics.ts';
import { proxyRequest, sendEarly, type EarlyRequest } from './proxy.ts';
import { createRequestBody, hasBody } from './request-body.ts';

export interface GatewayDeps {
  readonly config: Config;
  readonly upstream: ConnectionPool;
  readonly store: SessionStore;
  readonly cookie: SessionCookie;
  readonly tokens: TokenProvider;
  readonly accessLog: AccessLog;
  /** Null if metrics are off. */
  readonly metrics: {
    readonly gateway: GatewayMetrics;
    readonly service: { readonly gateway: RecordServiceResponse };
  } | null;
}

/**
 * Creates the gateway (docs/api.md), which forwards `/api/*` to the service and replaces the session cookie with the session's access
 * token. Both http.Server and `app.use('/api', …)` accept the returned request listener. `refusesRequest` returns whether to refuse a
 * request while the server is draining.
 */
export function createGateway(
  deps: GatewayDeps,
  refusesRequest: (req: IncomingMessage) => boolean = () => false,
): RequestListener {
  const { config, upstream, store, cookie, tokens, accessLog, metrics } = deps;
  const timeoutMs = config.serviceTimeoutSeconds * 1_000;
  const strictTransport = Object.entries(toStrictTransport(config.isHttps));
  const limits = createConcurrencyLimits({
    requests: config.maxRequests,
    requestsPerSession: config.maxRequestsPerSession,
    connections: config.serviceConnections,
  });
  metrics?.gateway.watchInFlight(async () => limits.inFlight);

  const handle: RequestListener = (req, res) => {
    const request = createApiRequest(accessLog.begin(req, res, originalTarget(req), '/api/*'));
    const signedCookie = cookie.read(req.headers.cookie);
    if (signedCookie !== null) request.session = sessionLogId(signedCookie.id);
    res.on('close', () => {
      endApiRequest(request);
      const { service } = request.times;
      if (service > 0) metrics?.service.gateway(toMetricsStatus(request), service);
      accessLog.end(request);
    });
    if (refusesRequest(req)) respond(request, new AppError('draining'));
    else void serve(request, signedCookie);
  };

  /** Serves a request, with the checks in the order documented in docs/api.md. */
  const serve = async (request: ApiRequest, signedCookie: VerifiedCookie | null): Promise<void> => {
    const { req, res, times } = request;
    try {
      checkHead(request, config);
      if (signedCookie === null) throw new AppError('sign_in_required');
      const { id } = signedCookie;
      const slot = (request.slot = limits.acquire(id));
      // Start reading the body now, because Node keeps each unread chunk as a separate object.
      if (hasBody(req)) request.body = createRequestBody(req, config.maxBodyBytes, timeoutMs);
      const early = trySendEarly(request, slot, id);
      let session: Session | null;
      try {
        session = await store.read(id, request);
        if (session === null) throw new SessionEndedError();
      } catch (error) {
        early?.abort();
        times.service = 0; // the client must not learn when the service responded
        throw error;
      } finally {
        // Don't use .finally(), which would create three more promises for every request.
        times.add('session', request.startedAt);
      }
      if (!signedCookie.usesFirstKey) res.setHeader('set-cookie', cookie.write(id));
      if (early !== null) {
        // The request already has a token. This records its use for the access log, and refreshes an expiring token in the background.
        tokens.unexpiredToken(session, request);
        early.onSessionRead(session);
        return;
      }
      if (request.body !== null) {
        // Wait for the start of the body first. Otherwise, a slow client would occupy a connection that other requests need.
        await request.body.startReceived();
        times.skip();
      }
      // An unexpired token is available synchronously, so it needs neither a promise nor a measurement.
      let accessToken = tokens.unexpiredToken(session, request);
      if (accessToken === null) {
        accessToken = await tokens.accessToken(session, request).finally(() => times.add('token'));
        times.refreshed = true;
      }
      await slot.waitForConnection(timeoutMs)?.finally(() => times.add('service'));
      proxyRequest(proxy, request, session, accessToken);
    } catch (error) {
      fail(request, error);
    }
  };

  /**
   * Sends a GET or HEAD request to the service before its session has been read, with the cached token, so that it need not wait for Redis
   * (docs/decisions/0004). Returns null if the request has to wait for its session or for a connection.
   */
  const trySendEarly = (request: ApiRequest, slot: RequestSlot, id: string): EarlyRequest | null => {
    const { method } = request.req;
    if ((method !== 'GET' && method !== 'HEAD') || request.body !== null) return null;
    const cached = store.cached(id);
    const accessToken = cached && tokens.earlyToken(cached);
    return accessToken !== null && slot.tryConnect() ? sendEarly(proxy, request, accessToken) : null;
  };

  const fail = (request: ApiRequest, error: unknown): void => {
    const { res } = request;
    if (error instanceof RequestAbortedError) abortResponse(res);
    else if (!res.headersSent) respond(request, toAppError(error));
    else sendProblem(res, toAppError(error)); // aborts, because a partial response must not look complete
  };

  const respond = ({ res, times }: ApiRequest, problem: AppError): void => {
    metrics?.gateway.countProblem(problem.code);
    if (!res.headersSent) {
      res.setHeaders(new Map(strictTransport));
      res.setHeader('server-timing', times.toHeader());
    }
    sendProblem(res, problem);
  };

  const proxy = { upstream, tokens, timeoutMs, responseHeaders: strictTransport.flat(), fail };

  return handle;
}

/** Returns the complete target. Express removes the mount path from `url`, but keeps it in `originalUrl`. */
function originalTarget(req: IncomingMessage): string {
  const { originalUrl } = req as { originalUrl?: unknown };
  return typeof originalUrl === 'string' ? originalUrl : (req.url ?? '');
}

/**
 * Returns the status of an upstream request for the metrics. Returns undefined if the service failed, and `aborted` if the client
 * disconnected, stopped sending or sent too much.
 */
function toMetricsStatus({ upstreamStatus, problem }: ApiRequest): number | 'aborted' | undefined {
  if (upstreamStatus !== undefined) return upstreamStatus;
  const isOutage = problem?.code === 'service_timeout' || problem?.code === 'service_unreachable';
  return isOutage ? undefined : 'aborted';
}
