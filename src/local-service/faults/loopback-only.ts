import type { Request, RequestHandler } from 'express';
import { AppError } from '../../platform/errors.ts';
import { isLoopback } from '../../platform/variable-schemas.ts';

const LOOPBACK_ADDRESS = /^(?:::1|(?:::ffff:)?127\.\d+\.\d+\.\d+)$/;

/** A link from anywhere may lead here: it changes nothing, and another site can't read what it shows. */
const SAFE = new Set(['GET', 'HEAD']);

/**
 * Refuses everything that doesn't come from this very machine: another host, a proxy here that says so, a page that
 * calls us by a name of its own (DNS rebinding). What changes something must come from a page of this origin, or from
 * no page at all.
 */
export function requireLoopback(): RequestHandler {
  return (req, _res, next) => {
    if (!isFromHere(req)) {
      throw new AppError(403, 'LOOPBACK_ONLY', 'This is for callers on the same machine only');
    }
    if (!SAFE.has(req.method) && !isSameOrigin(req))
      throw new AppError(403, 'CROSS_SITE', 'This request came from another site');
    next();
  };
}

/** What proxies and content networks say of whom they speak for. */
const PROXY_HEADER =
  /^(?:forwarded|x-forwarded.*|via|x-real-ip|(?:x-)?client-ip|x-cluster-client-ip|true-client-ip|cf-connecting-ip)$/;
const HOST = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d+)?$/i;

function isFromHere(req: Request): boolean {
  const host = req.get('host') ?? '';
  return (
    LOOPBACK_ADDRESS.test(req.socket.remoteAddress ?? '') &&
    !Object.keys(req.headers).some((name) => PROXY_HEADER.test(name)) &&
    HOST.test(host) &&
    isLoopback(`http://${host}`)
  );
}

/** By Fetch Metadata and `Origin`, which every browser sends with a post; what sends neither is no browser. */
function isSameOrigin(req: Request): boolean {
  const origin = req.get('origin');
  const site = req.get('sec-fetch-site') ?? 'none';
  if (site !== 'same-origin' && site !== 'none') return false;
  return origin === undefined || origin === `http://${req.get('host') ?? ''}`;
}
