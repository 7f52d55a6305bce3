import type { Request, RequestHandler } from 'express';
import { isLoopback } from '../../config/schema.ts';
import { ServiceError } from '../service-errors.ts';

const LOOPBACK_ADDRESS = /^(?:::1|(?:::ffff:)?127\.\d+\.\d+\.\d+)$/;

/**
 * Refuses everything that doesn't come from this very machine: another host, a proxy here that says so, a page that
 * calls us by a name of its own (DNS rebinding).
 */
export function requireLoopback(): RequestHandler {
  return (req, _res, next) => {
    if (isFromHere(req)) next();
    else throw new ServiceError(403, 'LOOPBACK_ONLY', 'This is for callers on the same machine only');
  };
}

/** What proxies and content networks say of whom they speak for. */
const PROXY_HEADER = /^(?:via|cdn-loop)$|forwarded|(?:client|real|connecting)-ip|external-address/;
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
