import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';

const ID = Symbol('request id');

/**
 * The id of a request, the same in its answer (`X-Request-Id`, by whoever answers), its log line, its error page and
 * its call to the service. Made here on first use; an id that a caller sends is never taken up.
 */
export function requestId(res: ServerResponse & { [ID]?: string }): string {
  return (res[ID] ??= randomUUID());
}
