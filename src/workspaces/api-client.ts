import type { Dispatcher } from 'undici';
import type { TokenProvider } from '../oauth/refresh/token-provider.ts';
import { noteToken } from '../oauth/token-use.ts';
import { createDeferred } from '../promises.ts';
import { type RequestContext, toTraceHeaders } from '../http/request-context.ts';
import type { ConnectionPool } from '../upstream/connection-pool.ts';
import type { RecordServiceResponse } from '../upstream/service-metrics.ts';
import type { Session } from '../session/record.ts';
import { toServiceFailure } from './service-errors.ts';

/** Something of the service that is read, and on whose behalf. */
export interface ServiceSource {
  readonly ticket: Session;
  /** Path on the service, percent-encoded where needed, without a query. */
  readonly path: string;
  /** Of the request that it is read for. */
  readonly notes: RequestContext;
  /** Aborts the call when the reader has gone. */
  readonly signal: AbortSignal;
}

/** What the service answered, whatever its status. */
interface ServiceAnswer {
  readonly status: number;
  readonly headers: Dispatcher.ResponseData['headers'];
  /** Of a 200 only; null where it is over the bound. */
  readonly body: Buffer | null;
}

/**
 * Asks for a source with a query (without its question mark; empty for none). After a 401 the token is renewed,
 * once for all calls of a source: a walk that needs more than one renewal has met another trouble. Rejects with an AppError fit for a page, with what the token keeper rejects with, or with the signal's reason once
 * that is aborted.
 */
export type AskService = (source: ServiceSource) => (query: string) => Promise<ServiceAnswer>;

const MAX_ANSWER_BYTES = 10 * 1024 * 1024;

/**
 * The calls under all that is read: of pages (`service-pages.ts`) and single items (`service-item.ts`). `timeoutSeconds`
 * bounds one whole answer, so that not even one that trickles in keeps a reader waiting.
 */
export function createServiceCalls(deps: {
  readonly service: ConnectionPool;
  readonly tokens: Pick<TokenProvider, 'accessToken' | 'tokenAfterUnauthorized'>;
  readonly timeoutSeconds: number;
  /** Null where nobody reads metrics. */
  readonly answered?: RecordServiceResponse | null;
}): AskService {
  const { service, tokens, answered = null } = deps;

  const call = async (source: ServiceSource, token: string, query: string): Promise<ServiceAnswer> => {
    const timeout = AbortSignal.timeout(deps.timeoutSeconds * 1_000);
    const signal = AbortSignal.any([source.signal, timeout]);
    const askedAt = performance.now();
    const heard = (status?: number | 'aborted') => answered?.(status, performance.now() - askedAt);
    try {
      const asked = service.request({
        method: 'GET',
        path: query === '' ? source.path : `${source.path}?${query}`,
        headers: {
          accept: 'application/json',
          authorization: `Bearer ${token}`,
          'x-request-id': source.notes.requestId,
          ...toTraceHeaders(source.notes.trace),
        },
        signal,
      });
      const response = await unlessAborted(signal, asked).catch((error: unknown) => {
        heard(source.signal.aborted ? 'aborted' : undefined);
        throw error;
      });
      heard(response.statusCode);
      return { status: response.statusCode, headers: response.headers, body: await readBody(response) };
    } catch (error) {
      source.signal.throwIfAborted();
      throw toServiceFailure(error, timeout.aborted);
    }
  };

  return (source) => {
    let token: string | undefined;
    let renewed = false;

    return async (query) => {
      token ??= await tokens.accessToken(source.ticket, source.notes);
      const answer = await call(source, token, query);
      if (answer.status !== 401 || renewed) return answer;
      const fresh = await tokens.tokenAfterUnauthorized(source.ticket, token, source.notes);
      if (fresh === null) return answer;
      renewed = true;
      token = fresh;
      noteToken(source.notes, 'replayed');
      return call(source, token, query);
    };
  };
}

/** undici looks at its signal no sooner than there is a connection; one that waits for it is to end in time as well. */
async function unlessAborted<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  const { promise: aborted, reject } = createDeferred<never>();
  const abort = () => reject(new Error('it was not waited for any longer'));
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  return Promise.race([promise, aborted]).finally(() => signal.removeEventListener('abort', abort));
}

async function readBody({ statusCode, body }: Dispatcher.ResponseData): Promise<Buffer | null> {
  if (statusCode !== 200) {
    await body.dump();
    return null;
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  // Leaving the loop early destroys the body, and its connection with it.
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
