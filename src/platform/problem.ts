import type { ServerResponse } from 'node:http';
import { cutOff } from './cut-off.ts';
import type { AppError } from './errors.ts';
import { requestId } from './request-id.ts';
import { noteBytes } from './request-notes.ts';

/**
 * Answers with `application/problem+json` (RFC 9457). `type` is `about:blank`-like: the stable name is `code`.
 * Does nothing but cut the connection where an answer has begun: half an answer must not look whole. One that has been
 * written to its end stands.
 */
export function sendProblem(res: ServerResponse, error: AppError): void {
  if (res.headersSent) {
    if (!res.writableEnded) cutOff(res);
    return;
  }
  const body = JSON.stringify({
    type: 'about:blank',
    title: error.title,
    status: error.status,
    code: error.code,
    detail: error.detail,
    requestId: requestId(res),
    ...error.extensions,
  });
  res.writeHead(error.status, {
    ...error.headers,
    'x-request-id': requestId(res),
    'content-type': 'application/problem+json',
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'x-content-type-options': 'nosniff',
  });
  if (res.req.method === 'HEAD') res.end();
  else {
    res.end(body);
    noteBytes(res, Buffer.byteLength(body));
  }
}
