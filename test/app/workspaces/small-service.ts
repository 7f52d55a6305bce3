import type { Socket } from 'node:net';
import { json, startRawService } from '../../support/raw-service.ts';

interface ServiceRequest {
  readonly limit: string | null;
  readonly next: string | null;
  readonly target: string;
  /** The header fields, keyed by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Returns the bytes of a response, null if the function has responded over the socket, or false for the usual response. */
export type Interception = (
  request: ServiceRequest,
  socket: Socket,
  nth: number,
) => string | Buffer | null | false;

/** Starts a service that has one list and strictly validates `next` and `limit` (section 4.5 of the service interface). */
export async function startSmallService(items: readonly unknown[], intercept: Interception = () => false) {
  const requests: ServiceRequest[] = [];
  const cursors: string[] = [];
  const offsets = new Map<string, { readonly limit: string; readonly offset: number }>();

  const respond = (request: ServiceRequest) => {
    const limit = request.limit ?? '';
    const from = request.next === null ? { limit, offset: 0 } : offsets.get(request.next);
    if (from === undefined || from.limit !== limit) {
      return json(400, { code: 'PAGINATION_INVALID', message: 'No such page' });
    }
    const end = from.offset + Number(limit);
    return json(200, {
      value: items.slice(from.offset, end),
      ...(end < items.length && { next: toCursor({ limit, offset: end }) }),
    });
  };

  /** Creates a cursor with many characters that must be percent-encoded in a URL. */
  const toCursor = (page: { limit: string; offset: number }) => {
    const cursor = `#${cursors.length}+a/b= c&d%25é?${page.offset}`;
    offsets.set(cursor, page);
    cursors.push(cursor);
    return cursor;
  };

  const service = await startRawService();
  service.respond = ({ start, fields }, socket) => {
    const target = start.split(' ')[1] ?? '';
    // Strict servers do not decode a plus sign as a space.
    const query = new URLSearchParams(new URL(target, service.origin).search.replaceAll('+', '%2B'));
    const headers = Object.fromEntries(fields.map(([name, value]) => [name.toLowerCase(), value]));
    const request = { limit: query.get('limit'), next: query.get('next'), target, headers };
    requests.push(request);
    const response = intercept(request, socket, requests.length);
    return response === false ? respond(request) : response;
  };
  return {
    origin: service.origin,
    requests,
    /** The cursors sent so far. */
    cursors,
    /** Makes the service respond with a 400 to all cursors sent so far. */
    expireCursors: () => offsets.clear(),
    [Symbol.asyncDispose]: async () => service[Symbol.asyncDispose](),
  };
}

/** Returns workspaces named `Workspace 1`, `Workspace 2` and so on. */
export function workspaces(count: number): { readonly id: string; readonly name: string }[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `w${index + 1}`,
    name: `Workspace ${index + 1}`,
  }));
}
