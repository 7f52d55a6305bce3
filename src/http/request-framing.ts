import type { IncomingMessage } from 'node:http';
import { AppError } from '../errors.ts';

/**
 * If a request has more than about 1,000 header fields, Node 20 drops some, possibly including `Content-Length`
 * (CVE-2026-58044). The server therefore disables the parser's limit and applies this limit to the raw headers.
 */
const MAX_HEADER_FIELDS = 100;
/** A host with an optional port, without spaces, commas, path or user (RFC 9112 §3.2). The host need not exist. */
const HOST = /^[\w.~!$&'()*+;=%:[\]-]+$/;

/**
 * Checks the framing of a request beyond what Node's parser enforces (RFC 9112 §2.3, §3.2, §6.1). Returns the error to send, or
 * null. The error closes the connection, because recipients may disagree on where a badly framed request ends.
 */
export function checkFraming(req: IncomingMessage): AppError | null {
  const { rawHeaders, httpVersion } = req;
  if (rawHeaders.length / 2 > MAX_HEADER_FIELDS)
    return new AppError('too_many_headers', { detail: `Send at most ${MAX_HEADER_FIELDS} header fields.` });
  if (httpVersion === '0.9') return badRequest('The request line has no version. Use HTTP/1.1.');
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return new AppError('http_version_not_supported');
  const encoding = req.headers['transfer-encoding'];
  if (encoding !== undefined && (httpVersion === '1.0' || encoding.toLowerCase() !== 'chunked'))
    return badRequest('Send Transfer-Encoding: chunked over HTTP/1.1, or send a Content-Length.');
  return checkHost(rawHeaders, httpVersion) ?? checkExpectation(req);
}

/** Requires exactly one valid Host header, or at most one in HTTP/1.0 (RFC 9112 §3.2). `req.headers` would hide duplicates. */
function checkHost(rawHeaders: readonly string[], httpVersion: string): AppError | null {
  let host: string | undefined;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length !== 4 || name.toLowerCase() !== 'host') continue;
    if (host !== undefined) return badRequest('Send only one Host header.');
    host = rawHeaders[index + 1] ?? '';
  }
  if (host === undefined) return httpVersion === '1.0' ? null : badRequest('Send a Host header.');
  return HOST.test(host) ? null : badRequest('The Host header must contain a host, with or without a port.');
}

/** Refuses every expectation except 100-continue (RFC 9110 §10.1.1). Node's own 417 would keep the connection open. */
function checkExpectation({ headers, httpVersion }: IncomingMessage): AppError | null {
  const { expect } = headers;
  if (expect === undefined || httpVersion === '1.0' || expect.toLowerCase() === '100-continue') return null;
  return new AppError('expectation_failed');
}

function badRequest(detail: string): AppError {
  return new AppError('bad_request', { detail });
}
