import type { Request, RequestHandler } from 'express';
import { AppError } from '../../platform/errors.ts';
import { isLoopback } from '../../platform/variable-schemas.ts';

const LOOPBACK_ADDRESS = /^(?:::1|(?:::ffff:)?127\.\d+\.\d+\.\d+)$/;

/**
 * Refuses everything that doesn't come from this very machine, straight, and from a page of this very origin: neither
 * another host, nor a proxy on this one, nor another site in a browser here, by whatever name it calls us (DNS
 * rebinding).
 */
export function requireLoopback(): RequestHandler {
  return (req, _res, next) => {
    if (!isFromHere(req)) {
      throw new AppError(403, 'LOOPBACK_ONLY', 'This is for callers on the same machine only');
    }
    if (!isSameOrigin(req)) throw new AppError(403, 'CROSS_SITE', 'This request came from another site');
    next();
  };
}

function isFromHere(req: Request): boolean {
  const proxied = ['forwarded', 'x-forwarded-for', 'via'].some((name) => req.get(name) !== undefined);
  const host = `http://${req.get('host') ?? ''}`;
  return (
    !proxied &&
    LOOPBACK_ADDRESS.test(req.socket.remoteAddress ?? '') &&
    URL.canParse(host) &&
    isLoopback(host)
  );
}

/** By Fetch Metadata and `Origin`, which every browser sends with a post; what sends neither is no browser. */
function isSameOrigin(req: Request): boolean {
  const origin = req.get('origin');
  const site = req.get('sec-fetch-site') ?? 'none';
  if (site !== 'same-origin' && site !== 'none') return false;
  return origin === undefined || origin === `http://${req.get('host') ?? ''}`;
}
