import type { ServerResponse } from 'node:http';
import type { TokenKeeper } from '../auth/token-keeper.ts';
import type { ServiceClient } from '../platform/service-client.ts';
import type { Ticket } from '../session/record.ts';
import type { Call } from './call.ts';
import { timed } from './call.ts';
import { toBrowserHeaders, toServiceHeaders, withoutLength } from './headers.ts';
import { CutOffError } from './outcome.ts';
import { serviceUnreachable } from './problems.ts';
import { createRequestBody, hasBody } from './request-body.ts';
import type { RequestBody } from './request-body.ts';
import { toServerTiming } from './server-timing.ts';
import { CallAbortedError, callService } from './service-call.ts';
import type { ServiceAnswer } from './service-call.ts';

export interface ExchangeOptions {
  readonly client: ServiceClient;
  readonly tokens: TokenKeeper;
  readonly maxBodyBytes: number;
  /** SERVICE_TIMEOUT_SECONDS, in ms. */
  readonly timeoutMs: number;
}

/**
 * Calls the service and delivers its answer; on a 401 renews the token, and repeats the call once where its body is at
 * hand. Resolves when the answer has been delivered, or is being delivered. Rejects with what went wrong.
 */
export async function callWithRenewal(
  options: ExchangeOptions,
  call: Call,
  ticket: Ticket,
  accessToken: string,
): Promise<void> {
  const { req, times } = call;
  const turn = call.slot?.turn(options.timeoutMs);
  if (turn) await timed(times, 'service', turn);
  if (call.res.destroyed) throw new CallAbortedError(); // the browser left while we waited
  if (hasBody(req)) call.body = createRequestBody(req, options.maxBodyBytes, options.timeoutMs);
  const { body } = call;

  const refused = await send(options, call, accessToken, body, 'first');
  if (refused === null) return;
  try {
    const renewed = await timed(times, 'token', options.tokens.accessToken(ticket, accessToken));
    const again = body === null ? null : await body.whole();
    if (body !== null && again === null) {
      deliver(call, refused);
      return;
    }
    refused.discard();
    await send(options, call, renewed, again, 'again');
  } catch (error) {
    refused.discard();
    throw error;
  }
}

/**
 * Sends the call once and delivers the answer. Resolves with null once that is done; the first time with a 401, which
 * then waits.
 */
function send(
  { client, timeoutMs }: ExchangeOptions,
  call: Call,
  accessToken: string,
  body: RequestBody | Buffer | null,
  attempt: 'first' | 'again',
): Promise<ServiceAnswer | null> {
  const { req, res, target, times } = call;
  return new Promise((resolve, reject) => {
    if (res.destroyed) throw new CallAbortedError(); // or since then
    const content = body === null || Buffer.isBuffer(body) ? body : body.stream;
    const headers = toServiceHeaders(req.rawHeaders, accessToken, call.id);
    const sentAt = performance.now();
    call.underWay = callService(
      client,
      { method: req.method ?? 'GET', target, headers, body: content },
      timeoutMs,
      {
        onAnswer(answer) {
          times.service += performance.now() - sentAt;
          if (attempt === 'first' && answer.status === 401) resolve(answer);
          else deliver(call, answer);
        },
        onEnd() {
          res.end();
          resolve(null);
        },
        onFailure(error) {
          if (!res.headersSent) {
            times.service += performance.now() - sentAt;
            reject(error);
            return;
          }
          res.destroy(); // a short answer must not look whole
          reject(new CutOffError('cut off', { cause: error }));
        },
      },
    );
  });
}

function deliver({ res, id, times }: Call, answer: ServiceAnswer): void {
  const { status } = answer;
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
