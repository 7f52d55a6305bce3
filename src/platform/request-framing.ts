import type { IncomingMessage } from 'node:http';
import { AppError } from './errors.ts';

/**
 * Node 20 drops header pairs past about 1,000, a `Content-Length` among them (CVE-2026-58044): the server takes the
 * parser's limit off and this one holds instead, counted on what came.
 */
const MOST_HEADER_FIELDS = 100;
/** No blank, no comma, nothing that begins a path or a user: whatever else a host may be is not ours to judge. */
const HOST = /^[\w.~!$&'()*+;=%:[\]-]+$/;
const CLOSE = { connection: 'close' };

/** What two readers may take for two different requests; nothing that follows on its connection is read. */
export function badRequest(detail = 'It is malformed.'): AppError {
  return new AppError(400, 'bad_request', 'This request can’t be read', { detail, headers: CLOSE });
}

/** More of a head than anybody needs. */
export function tooManyHeaders(detail = `At most ${MOST_HEADER_FIELDS} are taken.`): AppError {
  return new AppError(431, 'too_many_headers', 'The request has too many header fields', {
    detail,
    headers: CLOSE,
  });
}

/** RFC 9110 §10.1.1. Answered by Node itself, its connection would go on. */
function judgeExpectation({ headers, httpVersion }: IncomingMessage): AppError | null {
  const { expect } = headers;
  if (expect === undefined || httpVersion === '1.0' || expect.toLowerCase() === '100-continue') return null;
  return new AppError(417, 'expectation_failed', 'What this request expects can’t be met', {
    headers: CLOSE,
  });
}

/**
 * Judges how a request is framed, beyond what Node's parser refuses by itself (RFC 9112 §2.3, §3.2, §6.1). Whoever gets
 * an answer here must close the connection and take up nothing that came behind: nobody knows where this one ends.
 */
export function judgeFraming(req: IncomingMessage): AppError | null {
  const { rawHeaders, httpVersion } = req;
  if (rawHeaders.length / 2 > MOST_HEADER_FIELDS) return tooManyHeaders();
  if (httpVersion !== '1.1' && httpVersion !== '1.0')
    return badRequest('Only HTTP/1.1 and 1.0 are spoken here.');
  const encoding = req.headers['transfer-encoding'];
  if (encoding !== undefined && (httpVersion === '1.0' || encoding.toLowerCase() !== 'chunked'))
    return badRequest('Its Transfer-Encoding must be chunked, and nothing else.');
  return judgeHost(rawHeaders, httpVersion) ?? judgeExpectation(req);
}

/** Counted on what came: `req.headers` shows only the first of several. */
function judgeHost(rawHeaders: readonly string[], httpVersion: string): AppError | null {
  let host: string | undefined;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length !== 4 || name.toLowerCase() !== 'host') continue;
    if (host !== undefined) return badRequest('It names two hosts.');
    host = rawHeaders[index + 1] ?? '';
  }
  if (host === undefined) return httpVersion === '1.0' ? null : badRequest('It names no host.');
  return HOST.test(host) ? null : badRequest('Its Host is no host.');
}
