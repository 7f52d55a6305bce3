import type { ServerResponse } from 'node:http';
import { aborted } from 'node:util';
import type { Dispatcher } from 'undici';
import * as z from 'zod';
import { SessionEndedError } from '../errors.ts';
import { toTraceHeaders, type RequestContext } from '../http/request-context.ts';
import type { TokenProvider } from '../oauth/refresh/token-provider.ts';
import type { Session } from '../session/record.ts';
import type { SessionStore } from '../session/store.ts';
import { readAtMost, type ConnectionPool } from '../upstream/connection-pool.ts';
import type { RecordServiceResponse } from '../upstream/service-metrics.ts';
import { toConnectionError, toStatusError, toUnreadableResponse } from './service-errors.ts';

/** A request to the service for a list or item that a page or export needs. */
export interface PageRequest {
  readonly session: Session;
  /** Path on the service, percent-encoded where needed, without a query. */
  readonly path: string;
  /** Context of the client's request. */
  readonly context: RequestContext;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
}

export interface ListRequest extends PageRequest {
  /** Page size: the same for all pages of a list, because a cursor from the service is valid only for one page size. */
  readonly limit: number;
}

/** One page of a list. Items can have any shape. */
export interface ServicePage {
  readonly items: readonly unknown[];
  /** Cursor for the next page; absent on the last page. */
  readonly next?: string;
  /** The response body as received: a JSON object with the items in `value`. */
  readonly text: string;
}

/** Reads the page at a cursor, or the first page if there is no cursor. */
export type ReadPage = (cursor: string | undefined) => Promise<ServicePage>;

export type ApiClient = ReturnType<typeof createApiClient>;

interface ServiceResponse {
  readonly status: number;
  readonly headers: Dispatcher.ResponseData['headers'];
  /** Body of a 200 response; null for any other status, or if the body exceeds the limit. */
  readonly body: Buffer | null;
}

const MAX_BODY_BYTES = 10 * 1024 * 1024;
/** Maximum wait for an item once the rest of the page is complete, in ms. */
const ITEM_EXTRA_MS = 1_000;

/** Maximum length of a cursor, which must fit into the request head together with the other fields. */
const MAX_CURSOR_LENGTH = 8_192;
/** Maximum number of items in a response, a hundred times the maximum page size. More items would block the event loop. */
const MAX_ITEMS = 10_000;

const pageSchema = z.object({
  // z.array(z.unknown()) would copy the items, which costs as much as parsing them.
  value: z.custom<readonly unknown[]>((value) => Array.isArray(value) && value.length <= MAX_ITEMS),
  // encodeURIComponent() throws on a lone surrogate.
  next: z
    .string()
    .min(1)
    .max(MAX_CURSOR_LENGTH)
    .regex(/^\P{Cs}+$/u)
    .optional(),
});

const itemSchema = z.object({ value: z.record(z.string(), z.unknown()) });

/**
 * Creates the client that reads lists and items from the service (docs/local-service.md, 4.4 and 4.5). A failed read rejects
 * with an AppError for the error page, an error from the token provider, or the abort reason of the signal.
 */
export function createApiClient(deps: {
  readonly service: ConnectionPool;
  readonly sessions: Pick<SessionStore, 'read'>;
  readonly tokens: Pick<TokenProvider, 'accessToken' | 'tokenAfterUnauthorized'>;
  /** Maximum time for a complete response, even if the body keeps trickling in. */
  readonly timeoutSeconds: number;
  /** Null if metrics are off. */
  readonly recordResponse?: RecordServiceResponse | null;
  readonly now: () => number;
}) {
  const { service, sessions, tokens, recordResponse = null, now } = deps;

  const send = async (request: PageRequest, token: string, query: string): Promise<ServiceResponse> => {
    const { path, context } = request;
    const timeout = AbortSignal.timeout(deps.timeoutSeconds * 1_000);
    const signal = AbortSignal.any([request.signal, timeout]);
    const sentAt = performance.now();
    const record = (status?: number | 'aborted') => recordResponse?.(status, performance.now() - sentAt);
    try {
      const pending = service.request({
        method: 'GET',
        path: query === '' ? path : `${path}?${query}`,
        headers: {
          accept: 'application/json',
          authorization: `Bearer ${token}`,
          'x-request-id': context.requestId,
          ...toTraceHeaders(context.trace),
        },
        signal,
      });
      const response = await unlessAborted(signal, pending).catch((error: unknown) => {
        record(request.signal.aborted ? 'aborted' : undefined);
        throw error;
      });
      record(response.statusCode);
      return { status: response.statusCode, headers: response.headers, body: await readBody(response) };
    } catch (error) {
      request.signal.throwIfAborted();
      throw toConnectionError(error, timeout.aborted);
    }
  };

  /** Sends a GET request. After a 401, refreshes the token and repeats the request, but only once. */
  const get = async (request: PageRequest, query = ''): Promise<ServiceResponse> => {
    const { session, context } = request;
    const token = await tokens.accessToken(session, context);
    const response = await send(request, token, query);
    if (response.status !== 401) return response;
    const refreshed = await tokens.tokenAfterUnauthorized(session, token, context);
    if (refreshed === null) return response;
    context.token = 'replayed';
    return send(request, refreshed, query);
  };

  const readItemNow = async (request: PageRequest): Promise<unknown> => {
    const { status, body } = await get(request);
    if (status !== 200 || body === null) return null;
    return itemSchema.parse(JSON.parse(body.toString('utf8'))).value;
  };

  return {
    /**
     * Returns a function that reads pages of one list, with one request per page. The function rereads the session for each
     * page after the first, and rejects with SessionEndedError once the session has ended.
     */
    createReadPage(list: ListRequest): ReadPage {
      let isFirst = true;
      return async (cursor) => {
        // The router has just read the session for the first page.
        const session = isFirst ? list.session : await sessions.read(list.session.id, list.context);
        isFirst = false;
        if (session === null) throw new SessionEndedError();
        const next = cursor === undefined ? '' : `&next=${encodeURIComponent(cursor)}`;
        const { status, headers, body } = await get({ ...list, session }, `limit=${list.limit}${next}`);
        if (status !== 200) throw toStatusError(status, headers, now());
        return toServicePage(body);
      };
    },

    /**
     * Starts reading an item while the page waits for a list. The returned function waits for at most another second, and
     * resolves with the item or null. The function never rejects, because the page also works without the item. The interface
     * doesn't document this route.
     */
    startReadingItem(request: PageRequest): () => Promise<unknown> {
      const expiry = new AbortController();
      const signal = AbortSignal.any([request.signal, expiry.signal]);
      const item = unlessAborted(signal, readItemNow({ ...request, signal })).catch(() => null);
      return async () => {
        const timer = setTimeout(() => expiry.abort(), ITEM_EXTRA_MS);
        return item.finally(() => clearTimeout(timer));
      };
    },
  };
}

/** Returns a signal that is aborted when the client disconnects, or immediately if it has already disconnected. */
export function abortSignalOf(res: ServerResponse): AbortSignal {
  const controller = new AbortController();
  res.once('close', () => controller.abort());
  if (res.destroyed) controller.abort(); // `close` has already been emitted
  return controller.signal;
}

/**
 * Waits for a promise, but rejects immediately on abort. undici checks its signal only once a connection is available, so a
 * queued request would never time out. Token refreshes don't accept a signal.
 */
async function unlessAborted<T>(signal: AbortSignal, pending: Promise<T>): Promise<T> {
  const abort = aborted(signal, pending).then(() => {
    throw new Error('the request was aborted');
  });
  return Promise.race([pending, abort]);
}

async function readBody({ statusCode, body }: Dispatcher.ResponseData): Promise<Buffer | null> {
  if (statusCode !== 200) {
    await body.dump();
    return null;
  }
  return readAtMost(body, MAX_BODY_BYTES);
}

function toServicePage(body: Buffer | null): ServicePage {
  if (body === null) throw toUnreadableResponse('the response is too large');
  const { text, json } = parseBody(body);
  const page = pageSchema.safeParse(json);
  if (!page.success) {
    const member = String(page.error.issues[0]?.path[0] ?? 'no object');
    throw toUnreadableResponse(`the response is not a page of a list: ${member}`);
  }
  const { value, next } = page.data;
  return { items: value, ...(next !== undefined && { next }), text };
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Parses a response body. Refuses invalid UTF-8 (RFC 8259 §8.1), because replacement characters would change items. */
function parseBody(body: Buffer): { readonly text: string; readonly json: unknown } {
  try {
    const text = utf8.decode(body);
    return { text, json: JSON.parse(text) };
  } catch {
    // Omit the cause, because the message of a SyntaxError quotes the user's data.
    throw toUnreadableResponse('the response is not JSON');
  }
}
