import type { Request, RequestHandler } from 'express';
import { AppError } from '../../platform/errors.ts';

/** A link from anywhere may lead here: it changes nothing, and another site can't read what it shows. */
const SAFE = new Set(['GET', 'HEAD']);

/** Refuses what changes something and comes from a page of another origin. */
export function requireSameOrigin(): RequestHandler {
  return (req, _res, next) => {
    if (SAFE.has(req.method) || isSameOrigin(req)) next();
    else throw new AppError(403, 'CROSS_SITE', 'This request came from another site');
  };
}

/** By Fetch Metadata and `Origin`, which every browser sends with a post; what sends neither is no browser. */
function isSameOrigin(req: Request): boolean {
  const origin = req.get('origin');
  const site = req.get('sec-fetch-site') ?? 'none';
  if (site !== 'same-origin' && site !== 'none') return false;
  return origin === undefined || origin === `http://${req.get('host') ?? ''}`;
}
