import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';

/**
 * The id of a request, the same in its answer, its log line, its error page and its call to the service. Made
 * here on first use and kept in the answer's own header; an id that a caller sends is never taken up.
 */
export function requestId(res: ServerResponse): string {
  const known = res.getHeader('x-request-id');
  if (typeof known === 'string') return known;
  const id = randomUUID();
  if (!res.headersSent) res.setHeader('x-request-id', id);
  return id;
}
