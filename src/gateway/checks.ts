import type { Config } from '../config/load.ts';
import { AppError } from '../errors.ts';
import { passesCrossSiteCheck } from '../http/cross-site.ts';
import { checkFraming } from '../http/request-framing.ts';
import { checkTarget } from '../upstream/target.ts';
import type { ApiRequest } from './api-request.ts';
import { bodyTooLarge } from './request-body.ts';

/** Checks the parts of the request head that don't depend on the session, in the order of docs/api.md. Throws the first problem found. */
export function checkHead({ req, target }: ApiRequest, config: Config): void {
  const framingProblem = checkFraming(req);
  if (framingProblem !== null) throw framingProblem;
  const { method = '', headers } = req;
  if (method === 'TRACE')
    throw new AppError('method_not_allowed', {
      detail: 'TRACE is refused, because it would reveal headers that the gateway adds.',
      allow: 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS',
    });
  const result = checkTarget(target, config.apiPaths);
  if (result === 'malformed') throw new AppError('bad_request_target');
  if (result === 'not-allowed') throw new AppError('path_not_allowed');
  if (!passesCrossSiteCheck(method, headers, config.publicOrigin)) throw new AppError('cross_site_request');
  if (Number(headers['content-length'] ?? 0) > config.maxBodyBytes) throw bodyTooLarge(config.maxBodyBytes);
}
