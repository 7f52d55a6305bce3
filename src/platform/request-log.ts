import type { IncomingMessage, ServerResponse } from 'node:http';
import { clientAddress } from './client-address.ts';
import { writeInfoLine } from './log.ts';
import type { Logger } from './log.ts';
import { requestId } from './request-id.ts';

const LONGEST_LOGGED_PATH = 256;

/** A request whose line is due when its answer is closed. */
export interface RequestToLog {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly target: string;
  /** Who asks. */
  readonly client: string;
  /** By performance.now(). */
  readonly startedAt: number;
}

/**
 * Names a request to whoever asks, and logs it when it has ended. `proxies` is the number of reverse proxies whose
 * `X-Forwarded-For` is believed.
 */
export function logRequest(
  log: Logger,
  req: IncomingMessage,
  res: ServerResponse,
  target: string,
  proxies: number,
): void {
  res.setHeader('x-request-id', requestId(res));
  const client = clientAddress(req, proxies); // a connection that was cut off has none
  const request = { req, res, target, client, startedAt: performance.now() };
  res.once('close', () => writeRequestLine(log, request));
}

/** Writes the line of a request that has ended: its path but never its query, headers or body. */
export function writeRequestLine(log: Logger, request: RequestToLog): void {
  if (!log.isLevelEnabled('info')) return;
  const { req, res, target, client, startedAt } = request;
  const members = {
    requestId: requestId(res),
    client,
    method: req.method,
    path: toLoggedPath(target),
    status: res.headersSent ? res.statusCode : undefined,
    ms: Math.round(performance.now() - startedAt),
    cutOff: res.writableFinished ? undefined : true,
  };
  writeInfoLine(log, members, 'request');
}

/** A target that is no path may hold a password; a fragment has no place in one, and may hold anything. */
function toLoggedPath(target: string): string {
  if (!target.startsWith('/')) return 'not a path';
  const end = target.search(/[?#]/);
  return target.slice(0, end < 0 ? LONGEST_LOGGED_PATH : Math.min(end, LONGEST_LOGGED_PATH));
}
