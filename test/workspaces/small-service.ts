import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface ServiceCall {
  readonly limit: string | null;
  readonly next: string | null;
  readonly target: string;
  readonly headers: IncomingMessage['headers'];
}

/** Answers a call in the service's place; false leaves it to the list. */
export type Interception = (call: ServiceCall, res: ServerResponse, nth: number) => boolean;

/** A server with one list that follows section 4.5 of the service interface to the letter. */
export interface SmallService extends AsyncDisposable {
  readonly origin: string;
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

  const answer = (req: IncomingMessage, res: ServerResponse) => {
    const url = new URL(req.url ?? '', 'http://service');
    // As strict servers do: a plus sign is a plus sign.
    const query = new URLSearchParams(url.search.replaceAll('+', '%2B'));
    const call = {
      limit: query.get('limit'),
      next: query.get('next'),
      target: req.url ?? '',
      headers: req.headers,
    };
    calls.push(call);
    if (intercept(call, res, calls.length)) return;

    const limit = call.limit ?? '';
    const from = call.next === null ? { limit, offset: 0 } : offsets.get(call.next);
    if (from === undefined || from.limit !== limit) {
      sendJson(res, 400, { code: 'PAGINATION_INVALID', message: 'No such page' });
      return;
    }
    const end = from.offset + Number(limit);
    sendJson(res, 200, {
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

  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    given,
    expireTokens: () => offsets.clear(),
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

export function sendJson(res: ServerResponse, status: number, body: unknown): void {
  res.writeHead(status, { 'content-type': 'application/json' });
  res.end(JSON.stringify(body));
}

/** Workspaces named `Workspace 1` and up. */
export function workspaces(count: number): { readonly id: string; readonly name: string }[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `w${index + 1}`,
    name: `Workspace ${index + 1}`,
  }));
}
