import type { ServerResponse } from 'node:http';
import type { AppError } from '../errors.ts';
import { requestContext, requestId } from './request-context.ts';

/**
 * Responds with `application/problem+json` (RFC 9457). `type` is `about:blank`, because `code` identifies the problem. If the
 * response has already begun, aborts it instead, unless it has been fully written. The access log explains the problem.
 */
export function sendProblem(res: ServerResponse, error: AppError): void {
  requestContext(res).problem = error;
  if (res.headersSent) {
    if (!res.writableEnded) abortResponse(res);
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
    'cache-control': res.hasHeader('set-cookie') ? 'private, no-store' : 'no-store',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'x-content-type-options': 'nosniff',
  });
  res.end(body); // Node omits the body for HEAD
}

/**
 * Aborts an unfinished response by closing its connection, so that a partial response does not look complete. HTTP/1.0 has no
 * chunked encoding, so only a reset distinguishes a failure from the end of the response (RFC 9112 §8).
 */
export function abortResponse(res: ServerResponse): void {
  const { socket } = res;
  // Once all bytes are sent and the socket is ending, Node can't reset the socket and would never close it.
  const canReset = socket !== null && (!socket.writableEnded || socket.writableLength > 0);
  if (res.req.httpVersion === '1.0' && canReset) socket.resetAndDestroy();
  res.destroy();
}
