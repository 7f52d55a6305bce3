import type { IncomingMessage, ServerResponse } from 'node:http';
import { clientAddress } from './client-address.ts';
import type { Logger } from './log.ts';
import { requestId } from './request-id.ts';

const LONGEST_LOGGED_PATH = 256;

/**
 * Writes one line when the request has ended, with its path but never its query, headers or body. `proxies` is the
 * number of reverse proxies whose `X-Forwarded-For` is believed.
 */
export function logRequest(
  log: Logger,
  req: IncomingMessage,
  res: ServerResponse,
  target: string,
  proxies: number,
): void {
  const started = performance.now();
  const id = requestId(res);
  const client = clientAddress(req, proxies);
  res.once('close', () => {
    log.info(
      {
        requestId: id,
        client,
        method: req.method,
        path: toLoggedPath(target),
        ...(res.headersSent && { status: res.statusCode }),
        ms: Math.round(performance.now() - started),
        ...(!res.writableFinished && { cutOff: true }),
      },
      'request',
    );
  });
}

/** A target that is no path may hold a password; a fragment has no place in one, and may hold anything. */
function toLoggedPath(target: string): string {
  if (!target.startsWith('/')) return 'not a path';
  return (target.split(/[?#]/, 1)[0] ?? '').slice(0, LONGEST_LOGGED_PATH);
}
