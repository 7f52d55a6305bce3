import type { Socket } from 'node:net';
import { json, startRawService } from '../../support/raw-service.ts';

interface ServiceRequest {
  readonly limit: string | null;
  readonly next: string | null;
  readonly target: string;
  /** By their names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Responds in the service's place: with bytes, or over the socket where it returns null. After false, the list responds. */
export type Interception = (
  request: ServiceRequest,
  socket: Socket,
  nth: number,
) => string | Buffer | null | false;

/** A service with one list that follows section 4.5 of the service interface to the letter. */
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

  /** Each cursor is full of characters that a URL must encode. */
  const toCursor = (page: { limit: string; offset: number }) => {
    const cursor = `#${cursors.length}+a/b= c&d%25é?${page.offset}`;
    offsets.set(cursor, page);
    cursors.push(cursor);
    return cursor;
  };

  const service = await startRawService();
  service.answer = ({ start, fields }, socket) => {
    const target = start.split(' ')[1] ?? '';
    // Takes a plus sign for a plus sign, as strict servers do.
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
    /** Refuses all of these cursors with a 400. */
    expireCursors: () => offsets.clear(),
    [Symbol.asyncDispose]: async () => service[Symbol.asyncDispose](),
  };
}

/** Workspaces named `Workspace 1` and up. */
export function workspaces(count: number): { readonly id: string; readonly name: string }[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `w${index + 1}`,
    name: `Workspace ${index + 1}`,
  }));
}
