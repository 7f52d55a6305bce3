import type { IncomingMessage } from 'node:http';
import type { Config } from '../config/load.ts';
import { AppError } from '../errors.ts';
import { judgeFraming } from '../http/request-framing.ts';
import { crossSiteRequest, isSameOrigin } from '../http/cross-site.ts';
import { BodyTooLargeError } from './request-body.ts';
import { judgeTarget } from '../upstream/target.ts';

/** Judges what can be judged without the session, in the order of contract section 4. Throws the answer. */
export function judgeHead(req: IncomingMessage, target: string, config: Config): void {
  const fault = judgeFraming(req);
  if (fault !== null) throw fault;
  const method = req.method ?? '';
  if (method === 'TRACE')
    throw new AppError('method_not_allowed', {
      detail: 'TRACE would show headers that are not the client’s.',
      allow: 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS',
    });
  const verdict = judgeTarget(target, config.apiPaths);
  if (verdict === 'malformed') throw new AppError('bad_request_target');
  if (verdict === 'not-allowed') throw new AppError('path_not_allowed');
  if (!isSameOrigin(method, req.headers, config.publicOrigin)) throw crossSiteRequest();
  if (Number(req.headers['content-length'] ?? 0) > config.maxBodyBytes)
    throw new BodyTooLargeError(config.maxBodyBytes);
}
