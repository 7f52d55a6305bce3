import type { IncomingHttpHeaders } from 'node:http';

/** The trace that a request belongs to (W3C Trace Context): passed on as it came. */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  readonly traceparent: string;
  readonly tracestate: string | undefined;
}

/** §3.2.2: lower case, and of a version to come at least what this one has. */
const TRACEPARENT =
  /^(?<version>[\da-f]{2})-(?<traceId>[\da-f]{32})-(?<parentId>[\da-f]{16})-[\da-f]{2}(?<more>-.*)?$/;
/** §3.3.1.5: so much of `tracestate` is to be passed on at least; more might be too much for whoever gets it. */
const PRINTABLE = /^[\t\x20-\x7e]{1,512}$/;

/**
 * Null where there is none, or one that is malformed: then its `tracestate` counts for nothing either (§4.2). What `Connection`
 * names is for us alone (RFC 9110 §7.6.1).
 */
export function readTraceContext(headers: IncomingHttpHeaders): TraceContext | null {
  const { traceparent, tracestate, connection = '' } = headers;
  if (traceparent === undefined || /\btraceparent\b/i.test(connection)) return null;
  const text = String(traceparent);
  const { version, traceId, parentId, more } = TRACEPARENT.exec(text)?.groups ?? {};
  if (version === undefined || traceId === undefined || parentId === undefined) return null;
  if (version === 'ff' || (version === '00' && more !== undefined)) return null;
  if (/^0+$/.test(traceId) || /^0+$/.test(parentId) || !PRINTABLE.test(text)) return null;
  const isHeld = tracestate === undefined || /\btracestate\b/i.test(connection);
  const state = isHeld ? '' : String(tracestate);
  return { traceId, traceparent: text, tracestate: PRINTABLE.test(state) ? state : undefined };
}

/** The headers that pass a trace on; none where there is no trace. */
export function toTraceHeaders(trace: TraceContext | null): Record<string, string> {
  if (trace === null) return {};
  const { traceparent, tracestate } = trace;
  return { traceparent, ...(tracestate !== undefined && { tracestate }) };
}
