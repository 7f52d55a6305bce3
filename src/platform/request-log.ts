import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from './log.ts';
import { requestId } from './request-id.ts';

const LONGEST_LOGGED_PATH = 256;

/** Writes one line when the request has ended, with its path but never its query, headers or body. */
export function logRequest(log: Logger, req: IncomingMessage, res: ServerResponse, target: string): void {
  const started = performance.now();
  const id = requestId(res);
  const path = (target.split('?', 1)[0] ?? '').slice(0, LONGEST_LOGGED_PATH);
  res.once('close', () => {
    log.info(
      {
        requestId: id,
        method: req.method,
        path,
        status: res.statusCode,
        ms: Math.round(performance.now() - started),
        ...(!res.writableFinished && { cutOff: true }),
      },
      'request',
    );
  });
}
