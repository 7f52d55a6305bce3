import { tenths } from '../durations.ts';
import type { LineLevel } from '../observability/logger.ts';
import type { LoggedRequest } from './access-log.ts';

const LONGEST_LOGGED_PATH = 256;

/**
 * The line of a request that has ended, after `ms`: its path but never its query, headers or body. By hand, as each call has
 * one, and JSON.stringify() takes five times as long: only the path can hold what JSON has to escape
 * (docs/decisions/0023).
 */
export function toRequestLine(request: LoggedRequest, ms: number, level: LineLevel): string {
  const { requestId, trace, session, client, route, times, bytes, bytesIn, token, req, res } = request;
  const { method } = req as { method?: string | null };
  let line = `{"level":"${level}","time":${Date.now()},"requestId":"${requestId}"`;
  if (trace !== null) line += `,"traceId":"${trace.traceId}"`;
  if (session !== undefined) line += `,"session":"${session}"`;
  line += `,"client":"${client}","method":${typeof method === 'string' ? `"${method}"` : 'null'}`;
  line += `,"path":${JSON.stringify(toLoggedPath(request.target))}`;
  if (route !== undefined) line += `,"route":"${route}"`;
  if (res.headersSent) line += `,"status":${res.statusCode}`;
  line += `,"ms":${Math.round(ms)}`;
  if (times !== undefined) {
    if (times.session > 0) line += `,"sessionMs":${tenths(times.session)}`;
    if (times.token > 0) line += `,"tokenMs":${tenths(times.token)}`;
    if (times.service > 0) line += `,"serviceMs":${tenths(times.service)}`;
  }
  line += `,"bytes":${bytes}`;
  if (bytesIn !== undefined) line += `,"bytesIn":${bytesIn}`;
  if (token !== undefined) line += `,"token":"${token}"`;
  if (!res.writableFinished) line += ',"cutOff":true';
  return `${line},"msg":"request"}\n`;
}

/**
 * Where a path ends for the log: at what a mangled address may have in the place of its question mark, also percent-encoded,
 * however often. No value stands before the first of these.
 */
const END_OF_PATH = /[?#;&=]|%(?:25)*(?:23|26|3b|3d|3f)/i;

/** A target that is no path may hold a password; a fragment has no place in one, and may hold anything. */
function toLoggedPath(target: string): string {
  if (!target.startsWith('/')) return 'not a path';
  const path = target.slice(0, LONGEST_LOGGED_PATH);
  const end = path.search(END_OF_PATH);
  return end < 0 ? path : path.slice(0, end);
}
