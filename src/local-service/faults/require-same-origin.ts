import type { RequestHandler } from 'express';
import { isSameOrigin } from '../../http/cross-site.ts';
import { ServiceError } from '../service-errors.ts';

/** A link from anywhere may lead here: it changes nothing, and another site can't read what it shows. */
const SAFE = new Set(['GET', 'HEAD']);

/** Refuses what changes something and comes from a page of another origin. */
export function requireSameOrigin(): RequestHandler {
  return ({ method, headers }, _res, next) => {
    // Every browser sends one of them with whatever changes something; what sends neither is a program.
    const isProgram = headers.origin === undefined && headers['sec-fetch-site'] === undefined;
    if (SAFE.has(method) || isProgram || isSameOrigin(method, headers, `http://${headers.host ?? ''}`))
      next();
    else throw new ServiceError(403, 'CROSS_SITE', 'This request came from another site');
  };
}
