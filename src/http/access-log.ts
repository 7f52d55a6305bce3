import type { IncomingMessage, ServerResponse } from 'node:http';
import { clientAddress } from './client-address.ts';
import { writeLine } from '../observability/logger.ts';
import type { Logger } from '../observability/logger.ts';
import { createProbeWatch } from './probe-watch.ts';
import { requestId } from './request-id.ts';
import { toRequestLine } from './access-log-line.ts';
import type { RequestMetrics } from './request-metrics.ts';
import { attachContext } from './request-context.ts';
import type { RequestContext } from './request-context.ts';
import { readTraceContext } from './trace-context.ts';

/** A request whose line is due when its answer is closed. */
export interface LoggedRequest extends RequestContext {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly target: string;
  /** Who asks. */
  readonly client: string;
  /** The template that its path is one of; undefined where nobody tells them apart. */
  readonly route: string | undefined;
  /** By performance.now(). */
  readonly startedAt: number;
  /** What parts of it took, in ms: where that is known. */
  readonly times?: { readonly session: number; readonly token: number; readonly service: number };
  /** When its answer was written whole, where that is watched; by performance.now(). */
  writtenAt?: number;
  /** Bytes of its body that were read: where it had one that anybody counts. */
  bytesIn?: number | undefined;
}

/** Hears of requests from their head to the end of their answer. */
export interface AccessLog {
  /** Names a request to whoever asks, and tells of it when it has ended; `target` is the whole one. */
  begin(req: IncomingMessage, res: ServerResponse, target: string): LoggedRequest;
  /** Takes down what is known of one, where requestContext() finds it: for who counts its bytes and tells of its end himself. */
  takeDown(req: IncomingMessage, res: ServerResponse, target: string, route?: string): LoggedRequest;
  /** Tells of one that has ended: for who took it down. */
  ended(request: LoggedRequest): void;
}

export interface AccessLogOptions {
  readonly log: Logger;
  /** Reverse proxies whose `X-Forwarded-For` is believed; none unless told otherwise. */
  readonly proxies?: number;
  /** Which template a target is one of. */
  readonly toRoute?: (target: string) => string;
  /** Null where nobody reads metrics. */
  readonly metrics?: RequestMetrics | null;
}

/**
 * A line in the log for each request, and a number in the metrics. Probes that say nothing new have a line where the log is for
 * debugging alone: there are more of them than of anything else.
 */
export function createAccessLog(options: AccessLogOptions): AccessLog {
  const { log, proxies = 0, toRoute, metrics = null } = options;

  const saysNothingNew = createProbeWatch();

  const ended = (request: LoggedRequest) => {
    const now = performance.now();
    const { req, res, startedAt, writtenAt = now, route = 'none' } = request;
    // How long a page is read is up to who asks, and so is what he asks before it: no alert may come of that.
    metrics?.ended(route, req.method, res.headersSent ? res.statusCode : undefined, writtenAt - startedAt);
    const ms = now - startedAt;
    const level = saysNothingNew(request) ? 'debug' : 'info';
    if (log.isLevelEnabled(level)) writeLine(log, toRequestLine(request, ms, level));
  };
  const takeDown = (req: IncomingMessage, res: ServerResponse, target: string, route?: string) => {
    const request: LoggedRequest = {
      req,
      res,
      target,
      client: clientAddress(req, proxies), // a connection that was cut off has none any more
      route,
      startedAt: performance.now(),
      requestId: requestId(res),
      trace: readTraceContext(req.headers),
      session: undefined,
      token: undefined,
      bytes: 0,
    };
    attachContext(res, request);
    return request;
  };

  return {
    ended,
    takeDown,
    begin(req, res, target) {
      const request = takeDown(req, res, target, toRoute?.(target));
      countBody(request);
      noteEnd(request);
      res.setHeader('x-request-id', request.requestId);
      res.once('close', () => ended(request));
      return request;
    },
  };
}

type Send = (...args: unknown[]) => unknown;

/** Node counts what it sends of a connection only, heads and all. */
function countBody(request: LoggedRequest): void {
  const { req, res } = request;
  if (req.method === 'HEAD') return; // what is written goes nowhere
  const counted =
    (send: Send): Send =>
    (...args) => {
      request.bytes += lengthOf(args[0], args[1]);
      return send(...args);
    };
  const write = counted(res.write.bind(res) as Send);
  const end = counted(res.end.bind(res) as Send);
  Object.assign(res, { write, end });
}

function noteEnd(request: LoggedRequest): void {
  const { res } = request;
  const end = res.end.bind(res) as (...args: unknown[]) => ServerResponse;
  res.end = (...args: unknown[]) => {
    request.writtenAt ??= performance.now();
    return end(...args);
  };
}

function lengthOf(chunk: unknown, encoding: unknown): number {
  if (typeof chunk === 'string') {
    return Buffer.byteLength(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8');
  }
  return chunk instanceof Uint8Array ? chunk.byteLength : 0;
}
