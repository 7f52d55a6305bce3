import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { TokenKeeper } from '../auth/token-keeper.ts';
import type { Config } from '../config.ts';
import type { AppError } from '../platform/errors.ts';
import type { Logger } from '../platform/log.ts';
import { sendProblem } from '../platform/problem.ts';
import { requestId } from '../platform/request-id.ts';
import { logRequest } from '../platform/request-log.ts';
import type { ServiceClient } from '../platform/service-client.ts';
import type { Ticket } from '../session/record.ts';
import type { SessionRecords } from '../session/session-records.ts';
import type { TicketCookie } from '../session/ticket-cookie.ts';
import { judgeHead } from './head.ts';
import { toBrowserHeaders, toServiceHeaders } from './headers.ts';
import { CutOffError, toAnswer } from './outcome.ts';
import { draining, serviceUnreachable, sessionExpired, signInRequired } from './problems.ts';
import { createRequestBody, hasBody } from './request-body.ts';
import { createServerTiming } from './server-timing.ts';
import type { ServerTiming } from './server-timing.ts';
import { CallAbortedError, callService } from './service-call.ts';
import type { ServiceAnswer, ServiceCall } from './service-call.ts';

/** What the gateway works with. */
export interface GatewayDeps {
  readonly config: Config;
  readonly client: ServiceClient;
  readonly records: SessionRecords;
  readonly cookie: TicketCookie;
  readonly tokens: TokenKeeper;
  readonly log: Logger;
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
  return (req, res) => {
    const target = originalTarget(req);
    logRequest(deps.log, req, res, target, deps.config.trustProxy);
    const timing = createServerTiming();
    if (isRefused(req)) {
      refuse(res, draining(), timing);
      return;
    }
    forward(deps, req, res, target, timing).catch((error: unknown) => {
      const answer = toAnswer(error);
      if (answer === null) {
        res.destroy();
        return;
      }
      logFailure(deps.log, res, answer);
      refuse(res, answer, timing);
    });
  };
}

async function forward(
  deps: GatewayDeps,
  req: IncomingMessage,
  res: ServerResponse,
  target: string,
  timing: ServerTiming,
): Promise<void> {
  judgeHead(req, target, deps.config);
  const ticket = await timing.measure('session', async () => readTicket(deps, req, res));
  const accessToken = await timing.measure('token', async () => deps.tokens.accessToken(ticket));
  const answer = await callWithRenewal(deps, { req, res, target, ticket, accessToken, timing });

  try {
    res.writeHead(answer.status, toBrowserHeaders(answer.headers, requestId(res), timing.value()));
  } catch (error) {
    answer.discard();
    throw serviceUnreachable({ cause: error }); // a header that is none
  }
  // Not flushHeaders(): that writes the head as UTF-8, and its bytes would change.
  res.write(Buffer.alloc(0));
  await answer.pipe(res).catch((error: unknown) => {
    throw new CutOffError('cut off', { cause: error }); // a short answer must not look whole
  });
  res.end();
}

async function readTicket(deps: GatewayDeps, req: IncomingMessage, res: ServerResponse): Promise<Ticket> {
  const read = deps.cookie.read(req.headers.cookie);
  if (read === null) throw signInRequired();
  const ticket = await deps.records.read(read.id);
  if (ticket === null) throw sessionExpired();
  if (!read.current) res.setHeader('set-cookie', deps.cookie.write(read.id));
  return ticket;
}

interface Call {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly target: string;
  readonly ticket: Ticket;
  readonly accessToken: string;
  readonly timing: ServerTiming;
}

/** Calls the service; on a 401 renews the token, and repeats the call once where its body is at hand. */
async function callWithRenewal(deps: GatewayDeps, call: Call): Promise<ServiceAnswer> {
  const { config } = deps;
  const { req, res, target, timing } = call;
  const timeoutMs = config.serviceTimeoutSeconds * 1_000;
  const body = hasBody(req) ? createRequestBody(req, config.maxBodyBytes, timeoutMs) : null;
  let underWay: ServiceCall | null = null;
  res.once('close', () => {
    if (!res.writableFinished) underWay?.abort();
    body?.stream.destroy();
  });

  const send = async (accessToken: string, sent: typeof body | Buffer) => {
    if (res.destroyed) throw new CallAbortedError(); // the browser left while we waited for a token
    const headers = toServiceHeaders(req.rawHeaders, accessToken, requestId(res));
    const content = sent === null || Buffer.isBuffer(sent) ? sent : sent.stream;
    underWay = callService(
      deps.client,
      { method: req.method ?? 'GET', target, headers, body: content },
      timeoutMs,
    );
    const { answer } = underWay;
    return timing.measure('service', async () => answer);
  };

  const first = await send(call.accessToken, body);
  if (first.status !== 401) return first;
  try {
    const renewed = await timing.measure('token', async () =>
      deps.tokens.accessToken(call.ticket, call.accessToken),
    );
    const again = body === null ? null : await body.whole();
    if (body !== null && again === null) return first;
    first.discard();
    return await send(renewed, again);
  } catch (error) {
    first.discard();
    throw error;
  }
}

/** An outage is a normal event; what nobody designed an answer for is not. */
function logFailure(log: Logger, res: ServerResponse, answer: AppError): void {
  const line = { requestId: requestId(res), err: answer.cause };
  if (answer.status === 500) log.error(line, answer.code);
  else if (answer.status > 500) log.warn(line, answer.code);
}

function refuse(res: ServerResponse, error: AppError, timing: ServerTiming): void {
  if (!res.headersSent) res.setHeader('server-timing', timing.value());
  sendProblem(res, error);
}

/** Express takes the path that it mounts at off `url` and keeps the whole one here. */
function originalTarget(req: IncomingMessage): string {
  const { originalUrl } = req as { originalUrl?: unknown };
  return typeof originalUrl === 'string' ? originalUrl : (req.url ?? '');
}
