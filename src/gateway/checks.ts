import type { IncomingMessage } from 'node:http';
import type { Config } from '../config/load.ts';
import { judgeFraming } from '../http/request-framing.ts';
import { crossSiteRequest, isSameOrigin } from '../http/same-origin.ts';
import { badRequestTarget, bodyTooLarge, methodNotAllowed, pathNotAllowed } from './problems.ts';
import { judgeTarget } from '../upstream/target.ts';

/** Judges what can be judged without the session, in the order of contract section 4. Throws the answer. */
export function judgeHead(req: IncomingMessage, target: string, config: Config): void {
  const fault = judgeFraming(req);
  if (fault !== null) throw fault;
  const method = req.method ?? '';
  if (method === 'TRACE')
    throw methodNotAllowed({
      detail: 'TRACE would show headers that are not the caller’s.',
      headers: { allow: 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS' },
    });
  const verdict = judgeTarget(target, config.apiPaths);
  if (verdict === 'malformed') throw badRequestTarget();
  if (verdict === 'not-allowed') throw pathNotAllowed();
  if (!isSameOrigin(method, req.headers, config.publicOrigin)) throw crossSiteRequest();
  if (Number(req.headers['content-length'] ?? 0) > config.maxBodyBytes)
    throw bodyTooLarge(config.maxBodyBytes);
}
