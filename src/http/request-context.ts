import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { isIP } from 'node:net';

/** What Cloakroom knows of a request while it serves it. Handlers and upstream requests read it, and some add to it. */
export interface RequestContext {
  readonly requestId: string;
  readonly trace: TraceContext | null;
  /** The log id of the session that the request's cookie names, or that the request started. */
  session: string | undefined;
  token: TokenUse | undefined;
}

/**
 * How a request used the access token of its session:
 *
 * - `unexpired`, or `refreshed_ahead` where the background refresh of an unexpired token began.
 * - `refreshed`: the token had expired, and the request waited for a refresh.
 * - `replayed`: the service refused the token (401), and the request was repeated with a new one.
 * - `refused`: the service refused the token, and the request was not repeated.
 * - `failed`: there was no unexpired token, and no refresh brought one.
 */
export type TokenUse = 'unexpired' | 'refreshed_ahead' | 'refreshed' | 'replayed' | 'refused' | 'failed';

/** The trace that a request belongs to (W3C Trace Context), passed on as it came. */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  readonly traceparent: string;
  readonly tracestate: string | undefined;
}

const CONTEXT = Symbol('request context');
const ID = Symbol('request id');
type WithContext = ServerResponse & { [CONTEXT]?: RequestContext; [ID]?: string };

/** The context of the request that this response belongs to. Throws where the access log has not begun the request. */
export function requestContext(res: WithContext): RequestContext {
  const { [CONTEXT]: context } = res;
  if (context === undefined) throw new Error('the request has no context: AccessLog.begin() makes one');
  return context;
}

export function attachContext(res: WithContext, context: RequestContext): void {
  res[CONTEXT] = context;
}

/**
 * The id of a request: the same in `X-Request-Id`, in log lines, on error pages and upstream. Cloakroom makes it on first use
 * and never takes one from the client.
 */
export function requestId(res: WithContext): string {
  return (res[ID] ??= randomUUID());
}

/**
 * The address of the client: the peer of the connection or, behind `proxies` reverse proxies of ours, the address that the
 * outermost of them saw. Each proxy appends its peer to `X-Forwarded-For`. A client can write anything before that.
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

/** Some proxies add the port, which changes with each connection: `192.0.2.1:49152`, `[2001:db8::1]:49152`. */
function withoutPort(address: string): string {
  const { v4, v6 } = /^(?:(?<v4>[\d.]+):\d+|\[(?<v6>[^\]]+)\](?::\d+)?)$/.exec(address)?.groups ?? {};
  return v4 ?? v6 ?? address;
}

/** W3C Trace Context §3.2.2: lower case. A later version has at least the fields of this one. */
const TRACEPARENT =
  /^(?<version>[\da-f]{2})-(?<traceId>[\da-f]{32})-(?<parentId>[\da-f]{16})-[\da-f]{2}(?<more>-.*)?$/;
/** W3C Trace Context §3.3.1.5: every recipient accepts 512 characters of `tracestate`. */
const PRINTABLE = /^[\t\x20-\x7e]{1,512}$/;

/**
 * Reads the trace in a request's headers; null without a valid `traceparent`. Drops a `tracestate` without one (W3C Trace Context
 * §4.2). Drops a header that `Connection` names, which is for this hop alone (RFC 9110 §7.6.1).
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

/** The headers that pass a trace on; none without a trace. */
export function toTraceHeaders(trace: TraceContext | null): Record<string, string> {
  if (trace === null) return {};
  const { traceparent, tracestate } = trace;
  return { traceparent, ...(tracestate !== undefined && { tracestate }) };
}
