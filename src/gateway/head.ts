import type { IncomingMessage } from 'node:http';
import type { Config } from '../config.ts';
import { crossSiteRequest, isSameOrigin } from '../platform/same-origin.ts';
import {
  badRequestTarget,
  bodyTooLarge,
  methodNotAllowed,
  pathNotAllowed,
  tooManyHeaders,
} from './problems.ts';
import { judgeTarget } from './target.ts';

/**
 * Node 20 drops header pairs past about 1,000, a `Content-Length` among them (CVE-2026-58044): the server takes the
 * parser's limit off and this one holds instead, counted on what came.
 */
const MOST_HEADER_FIELDS = 100;

/** Judges what can be judged without the session, in the order of contract section 4. Throws the answer. */
export function judgeHead(req: IncomingMessage, target: string, config: Config): void {
  if (req.rawHeaders.length / 2 > MOST_HEADER_FIELDS) throw tooManyHeaders(MOST_HEADER_FIELDS);
  const method = req.method ?? '';
  if (method === 'TRACE')
    throw methodNotAllowed({ detail: 'TRACE would show headers that are not the caller’s.' });
  const verdict = judgeTarget(target, config.apiPaths);
  if (verdict === 'malformed') throw badRequestTarget();
  if (verdict === 'not-allowed') throw pathNotAllowed();
  if (!isSameOrigin(method, req.headers, config.publicOrigin)) throw crossSiteRequest();
  if (Number(req.headers['content-length'] ?? 0) > config.maxBodyBytes)
    throw bodyTooLarge(config.maxBodyBytes);
}
