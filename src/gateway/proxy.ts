import type { ServerResponse } from 'node:http';
import { AppError } from '../errors.ts';
import type { TokenProvider } from '../oauth/refresh/token-provider.ts';
import { noteToken } from '../oauth/token-use.ts';
import type { ConnectionPool } from '../upstream/connection-pool.ts';
import type { Session } from '../session/record.ts';
import type { Call } from './call.ts';
import { countTo } from './call.ts';
import type { RawHeaders } from './headers.ts';
import { hasOtherCoding, toBrowserHeaders, toServiceHeaders, withoutLength } from './headers.ts';
import { CutOffError } from './outcome.ts';
import { toServerTiming } from './timing.ts';
import { CallAbortedError } from './service-call-errors.ts';
import { callService } from './service-call.ts';
import type { ServiceAnswer, ServiceRequest } from './service-call.ts';

export interface ExchangeDeps {
  readonly client: ConnectionPool;
  readonly tokens: TokenProvider;
  /** SERVICE_TIMEOUT_SECONDS, in ms. */
  readonly timeoutMs: number;
  /** Headers of every response, name and value in turn. */
  readonly ours: RawHeaders;
  /** Called once at most for a call, where no answer has begun and none will, or where one is cut off. */
  readonly fail: (call: Call, error: unknown) => void;
}

/**
 * Calls the service and delivers its answer; on a 401 renews the token, and repeats the call once where its body is at
 * hand.
 */
export function startExchange(deps: ExchangeDeps, call: Call, ticket: Session, accessToken: string): void {
  if (call.res.destroyed) {
    deps.fail(call, new CallAbortedError()); // the browser left while we waited
    return;
  }
  send(deps, call, accessToken, call.body?.stream ?? null, ticket);
}

async function renewAndRepeat(
  deps: ExchangeDeps,
  call: Call,
  ticket: Session,
  accessToken: string,
  refused: ServiceAnswer,
): Promise<void> {
  const { body } = call;
  const renewed = await deps.tokens
    .tokenAfterUnauthorized(ticket, accessToken, call)
    .finally(() => countTo(call, 'token'));
  if (renewed === null) {
    deliver(deps, call, refused);
    return;
  }
  call.times.renewed = true;
  const again = body === null ? null : body.whole();
  if (body !== null && again === null) {
    deliver(deps, call, refused);
    return;
  }
  refused.discard();
  if (call.res.destroyed) throw new CallAbortedError();
  call.times.replayed = true;
  call.serviceStatus = undefined; // what counts is what it says to the second one
  noteToken(call, 'replayed');
  send(deps, call, renewed, again, null);
}

/** Sends the call once and delivers the answer; where a ticket is given, a 401 waits for its token to be renewed. */
function send(
  deps: ExchangeDeps,
  call: Call,
  accessToken: string,
  body: ServiceRequest['body'],
  ticket: Session | null,
): void {
  const { req, res, target } = call;
  const { client, timeoutMs, fail } = deps;
  const headers = toServiceHeaders(req.rawHeaders, accessToken, call);
  let isHeld = false;
  call.underWay = callService(client, { method: req.method ?? 'GET', target, headers, body }, timeoutMs, {
    onAnswer(answer) {
      countTo(call, 'service');
      call.serviceStatus = answer.status;
      if (ticket === null || answer.status !== 401) {
        deliver(deps, call, answer);
        return;
      }
      isHeld = true;
      renewAndRepeat(deps, call, ticket, accessToken, answer).catch((error: unknown) => {
        answer.discard();
        fail(call, error);
      });
    },
    onEnd() {
      res.end();
    },
    onFailure(error) {
      if (res.headersSent) {
        fail(call, new CutOffError('cut off', { cause: error })); // a short answer must not look whole
        return;
      }
      if (isHeld) return; // whoever holds it discards it, or finds the failure when it is to be delivered
      countTo(call, 'service');
      fail(call, error);
    },
  });
}

function deliver({ ours }: ExchangeDeps, { res, requestId, times }: Call, answer: ServiceAnswer): void {
  const { status, failure } = answer;
  if (failure !== null) throw failure; // it broke off while it waited
  if (hasOtherCoding(answer.headers)) throw new AppError('service_unreachable');
  const headers = status === 204 ? withoutLength(answer.headers) : answer.headers;
  try {
    const own = {
      requestId,
      serverTiming: toServerTiming(times),
      setsCookie: res.hasHeader('set-cookie'),
      always: ours,
    };
    writeHead(res, status, toBrowserHeaders(headers, own));
  } catch (error) {
    throw new AppError('service_unreachable', { cause: error }); // a header that is none
  }
  answer.deliver(res);
}

/** Beside headers that were set before, Node 20 takes only the last of those of one name. */
function writeHead(res: ServerResponse, status: number, headers: string[]): void {
  const before = res.getHeaderNames();
  if (before.length === 0) {
    res.writeHead(status, headers);
    return;
  }
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = headers[at] ?? '';
    if (!before.includes(name.toLowerCase())) res.appendHeader(name, headers[at + 1] ?? '');
  }
  res.writeHead(status);
}
