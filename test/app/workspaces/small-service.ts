import type { Socket } from 'node:net';
import { json, startRawService } from '../../support/raw-service.ts';
import type { RawService } from '../../support/raw-service.ts';

interface ServiceCall {
  readonly limit: string | null;
  readonly next: string | null;
  readonly target: string;
  /** By their names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Responds in the service's place: with these bytes, or over the socket where it gives null; false leaves it to the list. */
export type Interception = (call: ServiceCall, socket: Socket, nth: number) => string | Buffer | null | false;

/** A service with one list that follows section 4.5 of the service interface to the letter. */
export interface SmallService extends AsyncDisposable, Pick<RawService, 'origin'> {
  readonly calls: ServiceCall[];
  /** The tokens given out so far. */
  readonly given: string[];
  /** Forgets the tokens given out so far: each is answered 400 from now on. */
  expireTokens(): void;
}

export async function startSmallService(
  items: readonly unknown[],
  intercept: Interception = () => false,
): Promise<SmallService> {
  const calls: ServiceCall[] = [];
  const given: string[] = [];
  const offsets = new Map<string, { readonly limit: string; readonly offset: number }>();

  const respond = (call: ServiceCall) => {
    const limit = call.limit ?? '';
    const from = call.next === null ? { limit, offset: 0 } : offsets.get(call.next);
    if (from === undefined || from.limit !== limit) {
      return json(400, { code: 'PAGINATION_INVALID', message: 'No such page' });
    }
    const end = from.offset + Number(limit);
    return json(200, {
      value: items.slice(from.offset, end),
      ...(end < items.length && { next: give({ limit, offset: end }) }),
    });
  };

  /** Full of what an address must encode. */
  const give = (page: { limit: string; offset: number }) => {
    const token = `#${given.length}+a/b= c&d%25é?${page.offset}`;
    offsets.set(token, page);
    given.push(token);
    return token;
  };

  const service = await startRawService();
  service.answer = ({ start, fields }, socket) => {
    const target = start.split(' ')[1] ?? '';
    // As strict servers do: a plus sign is a plus sign.
    const query = new URLSearchParams(new URL(target, service.origin).search.replaceAll('+', '%2B'));
    const headers = Object.fromEntries(fields.map(([name, value]) => [name.toLowerCase(), value]));
    const call = { limit: query.get('limit'), next: query.get('next'), target, headers };
    calls.push(call);
    const response = intercept(call, socket, calls.length);
    return response === false ? respond(call) : response;
  };
  return {
    origin: service.origin,
    calls,
    given,
    expireTokens: () => offsets.clear(),
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
