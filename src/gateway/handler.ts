import type { IncomingMessage, RequestListener } from 'node:http';
import type { TokenProvider } from '../oauth/refresh/token-provider.ts';
import type { Config } from '../config/load.ts';
import { AppError, SessionEndedError } from '../errors.ts';
import type { Logger } from '../observability/logger.ts';
import { abortResponse, sendProblem } from '../http/problem.ts';
import type { AccessLog } from '../http/access-log.ts';
import { toStrictTransport } from '../http/security-headers.ts';
import type { ConnectionPool } from '../upstream/connection-pool.ts';
import type { RecordServiceResponse } from '../upstream/service-metrics.ts';
import { sessionLogId } from '../session/log-id.ts';
import type { Session } from '../session/record.ts';
import type { SessionStore } from '../session/store.ts';
import type { ReadCookie, SessionCookie } from '../session/cookie.ts';
import type { CallBounds } from './concurrency.ts';
import { createCallBounds } from './concurrency.ts';
import type { CallMetrics } from './gateway-metrics.ts';
import { countTo, createCall, endCall } from './call.ts';
import type { Call } from './call.ts';
import { startExchange } from './proxy.ts';
import type { ExchangeDeps } from './proxy.ts';
import { judgeHead } from './checks.ts';
import { CutOffError, toAnswer, toServiceStatus } from './outcome.ts';
import { createRequestBody, hasBody } from './request-body.ts';
import type { RequestBody } from './request-body.ts';
import { toServerTiming } from './timing.ts';
import { CallAbortedError } from './service-call-errors.ts';

/** What the gateway works with. */
export interface GatewayDeps {
  readonly config: Config;
  readonly upstream: ConnectionPool;
  readonly store: SessionStore;
  readonly cookie: SessionCookie;
  readonly tokens: TokenProvider;
  readonly log: Logger;
  readonly accessLog: AccessLog;
  /** Null where nobody reads metrics. */
  readonly metrics: {
    readonly calls: CallMetrics;
    readonly service: { readonly gateway: RecordServiceResponse };
  } | null;
}

/**
 * The gateway (contract, section 4): forwards `/api/*` to the service with the session's token in place of its cookie.
 * A plain listener, for http.Server and for `app.use('/api', …)` alike. `isRefused` tells the calls that come too late,
 * since the server is draining.
 */
export function createGateway(
  deps: GatewayDeps,
  isRefused: (req: IncomingMessage) => boolean = () => false,
): RequestListener {
  const { config, log, accessLog, metrics } = deps;
  const bounds = createCallBounds({
    mostCalls: config.maxCalls,
    mostCallsPerSession: config.maxCallsPerSession,
    connections: config.serviceConnections,
  });

  const strictTransport = toStrictTransport(config.publicOrigin.startsWith('https:'));
  const refuse = ({ res, times }: Call, error: AppError) => {
    if (!res.headersSent) {
      res.setHeaders(new Map(Object.entries(strictTransport)));
      res.setHeader('server-timing', toServerTiming(times));
    }
    sendProblem(res, error);
  };

  metrics?.calls.watchInFlight(async () => bounds.inFlight);
  const exchange = {
    client: deps.upstream,
    tokens: deps.tokens,
    ours: Object.entries(strictTransport).flat(),
    timeoutMs: config.serviceTimeoutSeconds * 1_000,
    fail(call: Call, error: unknown) {
      call.failure = error;
      const answer = toAnswer(error);
      if (answer === null) {
        logCutOff(log, call, error);
        abortResponse(call.res);
        return;
      }
      logFailure(log, call, answer);
      metrics?.calls.refused(answer.code);
      refuse(call, answer);
    },
  };

  return (req, res) => {
    const call = createCall(accessLog.begin(req, res, originalTarget(req), '/api/*'));
    const sent = deps.cookie.read(req.headers.cookie);
    if (sent !== null) call.session = sessionLogId(sent.id);
    res.on('close', () => {
      endCall(call);
      const { service } = call.times;
      if (service > 0) metrics?.service.gateway(toServiceStatus(call), service);
      accessLog.end(call);
    });
    if (isRefused(req)) {
      metrics?.calls.refused('draining');
      refuse(call, new AppError('draining'));
    } else void forward(deps, exchange, bounds, call, sent);
  };
}

/** Express takes the path that it mounts at off `url` and keeps the whole one here. */
function originalTarget(req: IncomingMessage): string {
  const { originalUrl } = req as { originalUrl?: unknown };
  return typeof originalUrl === 'string' ? originalUrl : (req.url ?? '');
}

/** Judges in the order of contract section 4, and sends the call on its way or fails it. */
async function forward(
  deps: GatewayDeps,
  exchange: ExchangeDeps,
  bounds: CallBounds,
  call: Call,
  sent: ReadCookie | null,
): Promise<void> {
  const { tokens } = deps;
  try {
    judgeHead(call.req, call.target, deps.config);
    if (sent === null) throw new AppError('sign_in_required');
    const slot = (call.slot = bounds.enter(sent.id));
    // At once: until it is read, Node keeps each chunk of a body as an object.
    if (hasBody(call.req))
      call.body = createRequestBody(call.req, deps.config.maxBodyBytes, exchange.timeoutMs);
    const ticket = await readSession(deps, call, sent.id);
    if (ticket === null) throw new SessionEndedError();
    if (!sent.current) call.res.setHeader('set-cookie', deps.cookie.write(sent.id));
    if (call.body !== null) await receiveStart(call, call.body);
    const accessToken = tokens.unexpiredToken(ticket, call) ?? (await renewedToken(tokens, call, ticket));
    const turn = slot.turn(exchange.timeoutMs);
    if (turn !== null) await turn.finally(() => countTo(call, 'service'));
    startExchange(exchange, call, ticket, accessToken);
  } catch (error) {
    exchange.fail(call, error);
  }
}

async function readSession({ store }: GatewayDeps, call: Call, id: string): Promise<Session | null> {
  try {
    return await store.read(id, call);
  } finally {
    countTo(call, 'session');
  }
}

/**
 * Waits for the first 64 KiB of a body, or all of it. Slow clients would otherwise hold the connections to the service,
 * and requests of other sessions would wait.
 */
async function receiveStart(call: Call, body: RequestBody): Promise<void> {
  await body.startReceived();
  call.partBeganAt = performance.now(); // the time that the client took belongs to no part
}

async function renewedToken(tokens: TokenProvider, call: Call, ticket: Session): Promise<string> {
  try {
    const accessToken = await tokens.accessToken(ticket, call);
    call.times.renewed = true;
    return accessToken;
  } finally {
    countTo(call, 'token');
  }
}

/** An outage is a normal event; what nobody designed an answer for is not. */
function logFailure(log: Logger, { requestId }: Call, answer: AppError): void {
  const line = { requestId, err: answer.cause };
  if (answer.status === 500) log.error(line, answer.code);
  else if (answer.status > 500) log.warn(line, answer.code);
}

/** What the service did in the middle of its answer; who left before its end is seen in the request's own line. */
function logCutOff(log: Logger, { requestId }: Call, error: unknown): void {
  if (!(error instanceof CutOffError) || error.cause instanceof CallAbortedError) return;
  log.warn({ requestId, err: error.cause }, 'answer cut off');
}
