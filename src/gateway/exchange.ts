import type { ServerResponse } from 'node:http';
import type { TokenKeeper } from '../auth/token-keeper.ts';
import type { ServiceClient } from '../platform/service-client.ts';
import type { Ticket } from '../session/record.ts';
import type { Call } from './call.ts';
import { timed } from './call.ts';
import { hasOtherCoding, toBrowserHeaders, toServiceHeaders, withoutLength } from './headers.ts';
import { CutOffError } from './outcome.ts';
import { serviceUnreachable } from './problems.ts';
import { createRequestBody, hasBody } from './request-body.ts';
import { toServerTiming } from './server-timing.ts';
import { CallAbortedError, callService } from './service-call.ts';
import type { ServiceAnswer, ServiceRequest } from './service-call.ts';

export interface ExchangeOptions {
  readonly client: ServiceClient;
  readonly tokens: TokenKeeper;
  readonly maxBodyBytes: number;
  /** SERVICE_TIMEOUT_SECONDS, in ms. */
  readonly timeoutMs: number;
}

/**
 * Calls the service and delivers its answer; on a 401 renews the token, and repeats the call once where its body is at
 * hand. `fail` is called, once at most, where no answer has begun and none will, or where one is cut off.
 */
export function startExchange(
  options: ExchangeOptions,
  call: Call,
  ticket: Ticket,
  accessToken: string,
  fail: (error: unknown) => void,
): void {
  if (call.res.destroyed) {
    fail(new CallAbortedError()); // the browser left while we waited
    return;
  }
  if (hasBody(call.req)) call.body = createRequestBody(call.req, options.maxBodyBytes, options.timeoutMs);
  const onRefused = (refused: ServiceAnswer) => {
    renewAndRepeat(options, call, ticket, accessToken, refused, fail).catch((error: unknown) => {
      refused.discard();
      fail(error);
    });
  };
  send(options, call, accessToken, call.body?.stream ?? null, fail, onRefused);
}

async function renewAndRepeat(
  options: ExchangeOptions,
  call: Call,
  ticket: Ticket,
  accessToken: string,
  refused: ServiceAnswer,
  fail: (error: unknown) => void,
): Promise<void> {
  const { body, times } = call;
  const renewed = await timed(times, 'token', options.tokens.accessToken(ticket, accessToken));
  const again = body === null ? null : await body.whole();
  if (body !== null && again === null) {
    deliver(call, refused);
    return;
  }
  refused.discard();
  if (call.res.destroyed) throw new CallAbortedError();
  send(options, call, renewed, again, fail, null);
}

/** Sends the call once and delivers the answer; a 401 goes to `onRefused`, where there is one, and waits. */
function send(
  { client, timeoutMs }: ExchangeOptions,
  call: Call,
  accessToken: string,
  body: ServiceRequest['body'],
  fail: (error: unknown) => void,
  onRefused: ((answer: ServiceAnswer) => void) | null,
): void {
  const { req, res, target, times } = call;
  const headers = toServiceHeaders(req.rawHeaders, accessToken, call.id);
  const request = { method: req.method ?? 'GET', target, headers, body };
  const sentAt = performance.now();
  let isHeld = false;
  call.underWay = callService(client, request, timeoutMs, {
    onAnswer(answer) {
      times.service += performance.now() - sentAt;
      if (onRefused === null || answer.status !== 401) {
        deliver(call, answer);
        return;
      }
      isHeld = true;
      onRefused(answer);
    },
    onEnd() {
      res.end();
    },
    onFailure(error) {
      if (res.headersSent) {
        fail(new CutOffError('cut off', { cause: error })); // a short answer must not look whole
        return;
      }
      if (isHeld) return; // whoever holds it discards it, or hears of it when it is delivered
      times.service += performance.now() - sentAt;
      fail(error);
    },
  });
}

function deliver({ res, id, times }: Call, answer: ServiceAnswer): void {
  const { status } = answer;
  if (hasOtherCoding(answer.headers)) throw serviceUnreachable();
  const headers = status === 204 ? withoutLength(answer.headers) : answer.headers;
  try {
    writeHead(res, status, toBrowserHeaders(headers, id, toServerTiming(times)));
  } catch (error) {
    throw serviceUnreachable({ cause: error }); // a header that is none
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
