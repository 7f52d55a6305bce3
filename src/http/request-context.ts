import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import type { AppError } from '../errors.ts';

/** Details of the request being served, which are logged and partly sent with upstream requests. */
export interface RequestContext {
  readonly requestId: string;
  readonly trace: TraceContext | null;
  /** The log id of the session in the request cookie, or of the session that the request started. */
  session: string | undefined;
  token: TokenUse | undefined;
  /** The problem that the request failed with. */
  problem?: AppError | undefined;
}

/**
 * How a request used the access token of its session:
 *
 * - `unexpired`: the token had not expired.
 * - `refreshed_ahead`: the token had not expired, and the request started its background refresh.
 * - `refreshed`: the token had expired, and the request waited for a refresh.
 * - `replayed`: the service refused the token with a 401, and the request was repeated with a new token.
 * - `refused`: the service refused the token, and the request was not repeated.
 */
export type TokenUse = 'unexpired' | 'refreshed_ahead' | 'refreshed' | 'replayed' | 'refused';

/** The trace that a request belongs to (W3C Trace Context), forwarded unchanged. */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  readonly traceparent: string;
  readonly tracestate: string | undefined;
}

const CONTEXT = Symbol('request context');
const ID = Symbol('request id');
type WithContext = ServerResponse & { [CONTEXT]?: RequestContext; [ID]?: string };

/** Returns the context of the request that a response belongs to. Throws if the access log is not tracking the request. */
export function requestContext(res: WithContext): RequestContext {
  const { [CONTEXT]: context } = res;
  if (context === undefined) throw new Error('the request has no context: call AccessLog.begin() first');
  return context;
}

export function attachContext(res: WithContext, context: RequestContext): void {
  res[CONTEXT] = context;
}

/**
 * Returns the request id, which is the same in `X-Request-Id`, log lines, error pages and upstream requests. The id is
 * generated on first use and never taken from the client.
 */
export function requestId(res: WithContext): string {
  return (res[ID] ??= randomUUID());
}

/**
 * Returns the client address: the peer of the connection or, behind `proxies` trusted reverse proxies, the address that the
 * outermost proxy saw. Each proxy appends its peer to `X-Forwarded-For`. The client can forge earlier addresses.
 */
export function clientAddress(req: IncomingMessage, proxies: number): string {
  const peer = req.socket.remoteAddress ?? '';
  if (proxies === 0) return peer === '' ? 'unknown' : peer;
  const forwarded = String(req.headers['x-forwarded-for'] ?? '').split(',');
  const seen = forwarded.map((address) => address.trim()).filter((address) => address !== '');
  const hops = [peer, ...seen.toReversed()];
  const address = withoutPort(hops[Math.min(proxies, hops.length - 1)] ?? '');
  return isIP(address) === 0 ? 'unknown' : address;
}

/** Removes the port that some proxies add and that differs for each connection: `192.0.2.1:49152`, `[2001:db8::1]:49152`. */
function withoutPort(address: string): string {
  const { v4, v6 } = /^(?:(?<v4>[\d.]+):\d+|\[(?<v6>[^\]]+)\](?::\d+)?)$/.exec(address)?.groups ?? {};
  return v4 ?? v6 ?? address;
}

/** Hexadecimal digits must be in lower case (W3C Trace Context §3.2.2). Later versions may append fields. */
const TRACEPARENT =
  /^(?<version>[\da-f]{2})-(?<traceId>[\da-f]{32})-(?<parentId>[\da-f]{16})-[\da-f]{2}(?<more>-.*)?$/;
/** At most 512 characters, the length that all vendors should propagate (W3C Trace Context §3.3.1.5). */
const PRINTABLE = /^[\t\x20-\x7e]{1,512}$/;

/**
 * Reads the trace from request headers; returns null without a valid `traceparent`. Drops a `tracestate` without a
 * `traceparent` (W3C Trace Context §4.2). Drops any header named in `Connection`, because such a header is only for this hop
 * (RFC 9110 §7.6.1).
 */
export function readTraceContext(headers: IncomingHttpHeaders): TraceContext | null {
  const { traceparent, tracestate, connection = '' } = headers;
  if (traceparent === undefined || /\btraceparent\b/i.test(connection)) return null;
  const text = String(traceparent);
  const { version, traceId, parentId, more } = TRACEPARENT.exec(text)?.groups ?? {};
  if (version === undefined || traceId === undefined || parentId === undefined) return null;
  if (version === 'ff' || (version === '00' && more !== undefined)) return null;
  if (/^0+$/.test(traceId) || /^0+$/.test(parentId) || !PRINTABLE.test(text)) return null;
  const isDropped = tracestate === undefined || /\btracestate\b/i.test(connection);
  const state = isDropped ? '' : String(tracestate);
  return { traceId, traceparent: text, tracestate: PRINTABLE.test(state) ? state : undefined };
}

/** Returns the headers that propagate the trace, or none if there is no trace. */
export function toTraceHeaders(trace: TraceContext | null): Record<string, string> {
  if (trace === null) return {};
  const { traceparent, tracestate } = trace;
  return { traceparent, ...(tracestate !== undefined && { tracestate }) };
}
