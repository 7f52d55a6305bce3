import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Registry } from 'prom-client';
import type { AppError } from '../errors.ts';
import { createOutcomeMetrics, STATUS_CLASSES, statusClassIndex } from '../observability/prometheus.ts';
import { toShortCause, type Logger } from '../observability/logger.ts';
import {
  attachContext,
  clientAddress,
  readTraceContext,
  requestId,
  type RequestContext,
} from './request-context.ts';

/** A request, tracked from its head to the end of its response. */
export interface LoggedRequest extends RequestContext {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** The complete target, even inside an Express router. */
  readonly target: string;
  readonly client: string;
  /** The template of the path, such as `/workspaces/{id}`. */
  readonly route: string | undefined;
  /** Start of the request, as returned by performance.now(). */
  readonly startedAt: number;
  /** Bytes that the socket had sent before this response. */
  readonly bytesBefore: number;
  /** Duration of each stage of the request, in ms. */
  readonly times?: { readonly session: number; readonly token: number; readonly service: number };
  /** Time at which the response was fully written, as returned by performance.now(). */
  writtenAt?: number;
  /** Number of request body bytes read. */
  bytesIn?: number | undefined;
}

interface AccessLogOptions {
  readonly log: Logger;
  /** Number of reverse proxies that append to `X-Forwarded-For`. */
  readonly proxies?: number;
  readonly toRoute?: (target: string) => string;
  readonly metrics?: RequestMetrics | null;
}

export type AccessLog = ReturnType<typeof createAccessLog>;

/** Writes a log line and records a metric for each request. Repeated successful health checks are logged at `debug`. */
export function createAccessLog({ log, proxies = 0, toRoute, metrics = null }: AccessLogOptions) {
  const isRepeatedHealthCheck = createHealthCheckFilter();

  /** Begins tracking a request and attaches its context to the response. The caller must call `end`. */
  const begin = (req: IncomingMessage, res: ServerResponse, target: string, route = toRoute?.(target)) => {
    const request: LoggedRequest = {
      req,
      res,
      target,
      client: clientAddress(req, proxies), // read now, because a closed socket has no address
      route,
      startedAt: performance.now(),
      bytesBefore: req.socket.bytesWritten,
      requestId: requestId(res),
      trace: readTraceContext(req.headers),
      session: undefined,
      token: undefined,
      problem: undefined,
    };
    attachContext(res, request);
    return request;
  };

  const end = (request: LoggedRequest) => {
    const now = performance.now();
    const { res, startedAt, writtenAt = now, route = 'none', problem } = request;
    metrics?.observe(route, res.headersSent ? res.statusCode : undefined, writtenAt - startedAt);
    const level = isRepeatedHealthCheck(request) ? 'debug' : 'info';
    if (problem !== undefined && problem.status >= 500) logFailure(request.requestId, problem);
    if (!log.isLevelEnabled(level)) return;
    log.writeLine(level, toLogFields(request, now - startedAt));
  };

  /**
   * Logs a failure that users see, even at LOG_LEVEL=warn. Only an internal error points to a bug in Cloakroom, so only its line has the
   * stack, which is that of the cause.
   */
  const logFailure = (id: string, problem: AppError) => {
    const { code, status, cause } = problem;
    if (status === 500) log.error({ requestId: id, code, err: cause }, 'request failed');
    else log.warn({ requestId: id, code, err: problem }, 'request failed');
  };

  return {
    begin,
    end,
    /** Tracks a request until its response closes. Adds `X-Request-Id` to the response. */
    track(req: IncomingMessage, res: ServerResponse, target: string): LoggedRequest {
      const request = begin(req, res, target);
      res.setHeader('x-request-id', request.requestId);
      // Leave the client's reading time out of the metric, so that slow clients don't trigger alerts. Node emits `prefinish`
      // inside end(), but `finish` only once the kernel has accepted the entire response.
      res.once('prefinish', () => (request.writtenAt = performance.now()));
      res.once('close', () => end(request));
      return request;
    },
  };
}

/**
 * Returns the log fields for a request. The fields include the path, but never the query, headers or body. For a request that Cloakroom
 * failed, `code` and `cause` replace `bytes` and `token`, so that an outage doesn't write longer lines.
 */
function toLogFields(request: LoggedRequest, ms: number) {
  const { req, res, trace, times, problem } = request;
  const isCutOff = !res.writableFinished;
  const isUsual = problem === undefined || isCutOff;
  return {
    requestId: request.requestId,
    traceId: trace?.traceId,
    session: request.session,
    client: request.client,
    method: req.method,
    path: toLoggedPath(request.target),
    route: request.route,
    status: res.headersSent ? res.statusCode : undefined,
    ms: Math.round(ms),
    sessionMs: toTenths(times?.session),
    tokenMs: toTenths(times?.token),
    serviceMs: toTenths(times?.service),
    bytes: isUsual ? req.socket.bytesWritten - request.bytesBefore : undefined,
    bytesIn: request.bytesIn,
    token: isUsual ? request.token : undefined,
    cutOff: isCutOff || undefined,
    code: problem?.code,
    cause: problem && toShortCause(problem),
    msg: 'request',
  };
}

/** Rounds milliseconds to tenths; returns undefined for a stage that the request did not reach. */
function toTenths(ms = 0): number | undefined {
  return ms > 0 ? Math.round(ms * 10) / 10 : undefined;
}

const MAX_LOGGED_PATH = 256;
/**
 * Matches the first character that may begin a query, a fragment or a value in a mangled URL. The logged path ends before this
 * character, which may be percent-encoded any number of times.
 */
const END_OF_PATH = /[?#;&=]|%(?:25)*(?:23|26|3b|3d|3f)/i;

/** Returns the part of a target that is safe to log. A target that is not a path could contain a password. */
function toLoggedPath(target: string): string {
  if (!target.startsWith('/')) return 'not a path';
  const path = target.slice(0, MAX_LOGGED_PATH);
  const end = path.search(END_OF_PATH);
  return end < 0 ? path : path.slice(0, end);
}

const HEALTH_CHECK = /^\/(?:healthz|readyz)(?=\?|$)/;

/**
 * Returns a function that recognises repeated successful health checks: all but the first success after startup or a failure.
 */
function createHealthCheckFilter(): (request: LoggedRequest) => boolean {
  const succeeding = new Set<string>();
  return ({ req, res, target }) => {
    const [path] = HEALTH_CHECK.exec(target) ?? [];
    if (path === undefined || (req.method !== 'GET' && req.method !== 'HEAD')) return false;
    const succeeds = res.statusCode === 200 && res.writableFinished;
    const isRepeated = succeeds && succeeding.has(path);
    if (succeeds) succeeding.add(path);
    else succeeding.delete(path);
    return isRepeated;
  };
}

type RequestMetrics = ReturnType<typeof createRequestMetrics>;

/** Registers the request metrics. Only these routes are counted. */
export function createRequestMetrics(registry: Registry, routes: readonly string[]) {
  const byRoute = createOutcomeMetrics(registry, {
    durations: {
      name: 'cloakroom_request_duration_seconds',
      help: 'Request duration by route, from the request head to the end of the response (for pages, until the response is written).',
    },
    total: { name: 'cloakroom_requests_total', help: 'Requests by route and status class.' },
    by: ['route', routes],
    outcomes: ['status', STATUS_CLASSES],
    watched: ['5xx'],
  });
  return {
    /** `status` is undefined for a request that received no response. */
    observe(route: string, status: number | undefined, ms: number): void {
      byRoute.get(route)?.(statusClassIndex(status), ms);
    },
  };
}
