import type { Dispatcher } from 'undici';
import { z } from 'zod';
import type { TokenKeeper } from '../auth/token-keeper.ts';
import { createDeferred } from '../platform/deferred.ts';
import type { ServiceClient } from '../platform/service-client.ts';
import type { Ticket } from '../session/record.ts';
import { toServiceAnswerError, toServiceFailure, toUnreadableAnswer } from './service-answer-error.ts';

/** A page of a list as the service gave it; the items are anything at all. */
export interface ServicePage {
  readonly items: readonly unknown[];
  /** Asks for the following page; absent on the last one. */
  readonly next?: string;
  /** The whole answer as it came: JSON text of an object with the items under `value`. */
  readonly text: string;
}

/** A list of the service, and on whose behalf it is read. */
export interface ListSource {
  readonly ticket: Ticket;
  /** Path on the service, percent-encoded where needed, without a query. */
  readonly path: string;
  /** Goes with every `next`: the service binds its tokens to it. */
  readonly limit: number;
  readonly requestId: string;
  /** Aborts the call when the reader has gone. */
  readonly signal: AbortSignal;
}

/**
 * Asks for the page that `next` stands for, or for the first. Rejects with an AppError fit for a page, with what the
 * token keeper rejects with, or with the signal's reason once that is aborted.
 */
export type AskPage = (next: string | undefined) => Promise<ServicePage>;

const MAX_ANSWER_BYTES = 10 * 1024 * 1024;
/** It must fit into the head of a request again, beside everything else. */
const MAX_NEXT_CHARACTERS = 8_192;

const envelopeSchema = z.object({
  value: z.array(z.unknown()),
  // Half a surrogate pair has no place in an address.
  next: z
    .string()
    .min(1)
    .max(MAX_NEXT_CHARACTERS)
    .regex(/^\P{Cs}+$/u)
    .optional(),
});

/**
 * Reads lists of the service page by page (service interface, section 4.5). `timeoutSeconds` bounds one whole answer,
 * so that not even one that trickles in keeps a reader waiting; `now` is in ms since the epoch.
 */
export function createServicePages(deps: {
  readonly service: ServiceClient;
  readonly tokens: Pick<TokenKeeper, 'accessToken'>;
  readonly timeoutSeconds: number;
  readonly now: () => number;
}): (source: ListSource) => AskPage {
  const { service, tokens, now } = deps;

  const call = async (source: ListSource, token: string, next: string | undefined): Promise<Answer> => {
    const more = next === undefined ? '' : `&next=${encodeURIComponent(next)}`;
    const timeout = AbortSignal.timeout(deps.timeoutSeconds * 1_000);
    const signal = AbortSignal.any([source.signal, timeout]);
    try {
      const asked = service.request({
        method: 'GET',
        path: `${source.path}?limit=${source.limit}${more}`,
        headers: {
          accept: 'application/json',
          authorization: `Bearer ${token}`,
          'x-request-id': source.requestId,
        },
        signal,
      });
      const response = await unlessAborted(signal, asked);
      return { status: response.statusCode, headers: response.headers, body: await readBody(response) };
    } catch (error) {
      source.signal.throwIfAborted();
      throw toServiceFailure(error, timeout.aborted);
    }
  };

  return (source) => {
    let token: string | undefined;
    let renewed = false;

    return async (next) => {
      token ??= await tokens.accessToken(source.ticket);
      let answer = await call(source, token, next);
      if (answer.status === 401 && !renewed) {
        renewed = true;
        token = await tokens.accessToken(source.ticket, token);
        answer = await call(source, token, next);
      }
      if (answer.status !== 200) throw toServiceAnswerError(answer.status, answer.headers, now());
      return toServicePage(answer.body);
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

interface Answer {
  readonly status: number;
  readonly headers: Dispatcher.ResponseData['headers'];
  /** Of a 200 only; null where it is over the bound. */
  readonly body: Buffer | null;
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

function toServicePage(body: Buffer | null): ServicePage {
  if (body === null) throw toUnreadableAnswer('the answer is too large for a page');
  const text = readText(body);
  const envelope = envelopeSchema.safeParse(parseJson(text));
  if (!envelope.success) throw toUnreadableAnswer('the answer is no page of a list', envelope.error);
  const { value, next } = envelope.data;
  return { items: value, ...(next !== undefined && { next }), text };
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Other bytes than UTF-8 are no JSON (RFC 8259 §8.1): to put something else in their place would change the items. */
function readText(body: Buffer): string {
  try {
    return utf8.decode(body);
  } catch {
    throw toUnreadableAnswer('the answer is no JSON');
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The message of a SyntaxError quotes the text, which is the user's own.
    throw toUnreadableAnswer('the answer is no JSON');
  }
}
