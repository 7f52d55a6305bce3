import { createHash } from 'node:crypto';
import { AppError } from '../../errors.ts';
import type { ApiClient, PageRequest, ServicePage } from '../api-client.ts';
import { createLoopGuard } from '../paging.ts';
import { isExpiredCursor, toUnreadableResponse } from '../service-errors.ts';
import { elementsOf, isNumber, isObject, isString, membersOf, toOneLine } from './json.ts';

/**
 * Yields all items in a list, page by page, each as JSON text on one line. Requests a page only once the consumer has taken the
 * previous page. If the generator throws, some items are missing.
 */
export type ReadAllItems = (request: PageRequest) => AsyncGenerator<readonly string[], void>;

/** Waits for `ms`, or rejects as soon as the signal is aborted. */
export type Wait = (ms: number, signal: AbortSignal) => Promise<unknown>;

/** The service's maximum page size (docs/local-service.md, 2). */
const LIMIT = 100;
/** Maximum number of requests per export, enough for one million items. A longer list is treated as endless. */
const MAX_REQUESTS = 10_000;
/** Maximum number of consecutive passes that yield no new items before a cursor expires. */
const MAX_IDLE_PASSES = 3;
const MAX_TRIES = 10;
/** Maximum total wait for retries, in ms. Load balancers close connections that are idle for two minutes (docs/deploy.md). */
const MAX_WAIT_MS = 100_000;

/** Creates the function that reads all items in a list. `wait` is called before each retry. */
export function createReadAllItems(deps: {
  readonly api: Pick<ApiClient, 'createReadPage'>;
  readonly wait: Wait;
}): ReadAllItems {
  const { api, wait } = deps;

  /** Returns a function that reads a page, retries after temporary failures, and returns null if the cursor has expired. */
  const createPersistentRead = (request: PageRequest) => {
    const readPage = api.createReadPage({ ...request, limit: LIMIT });
    let requests = 0;
    return async (cursor: string | undefined): Promise<ServicePage | null> => {
      requests += 1;
      // Don't retry the first page, because its failure can still be reported on an error page.
      if (requests === 1) return readPage(cursor);
      if (requests > MAX_REQUESTS) throw toUnreadableResponse('the list does not end');
      const page = withRetries(async () => readPage(cursor), wait, request.signal);
      return page.catch((error: unknown) => {
        if (cursor !== undefined && isExpiredCursor(error)) return null;
        throw error;
      });
    };
  };

  return async function* readAllItems(request) {
    const readPage = createPersistentRead(request);
    const sent = createItemTracker();
    let idlePasses = 0;
    do {
      const { count } = sent;
      if ((yield* readUnsent(readPage, sent)) === 'end') return;
      idlePasses = sent.count > count ? 0 : idlePasses + 1;
    } while (idlePasses < MAX_IDLE_PASSES);
    throw toUnreadableResponse('the cursors of the list expire before the list ends');
  };
}

type ItemTracker = ReturnType<typeof createItemTracker>;

/**
 * Reads the list from its first page, and yields the items that have not yet been sent. The items already sent must be unchanged;
 * otherwise, an item could be missing or sent twice.
 */
async function* readUnsent(
  readPage: (cursor: string | undefined) => Promise<ServicePage | null>,
  sent: ItemTracker,
): AsyncGenerator<readonly string[], 'end' | 'expired'> {
  const expected = { count: sent.count, digest: sent.digest() };
  const skipped = createItemTracker();
  const isPastSent = () => skipped.count === expected.count;
  const refuseLoop = createLoopGuard();
  let cursor: string | undefined;
  do {
    const page = await readPage(cursor);
    if (page === null) return 'expired';
    cursor = page.next;
    refuseLoop(cursor);
    const items = elementsOf(membersOf(page.text).get('value') ?? '[]').map(toOneLine);
    const unsent = items.slice(expected.count - skipped.count);
    for (const item of items.slice(0, expected.count - skipped.count)) skipped.add(item);
    if (isPastSent() && skipped.digest() !== expected.digest) throw toChangedList();
    for (const item of unsent) sent.add(item);
    yield unsent;
  } while (cursor !== undefined);
  if (!isPastSent()) throw toChangedList();
  return 'end';
}

/**
 * Counts items and hashes them in order, in constant memory. Items are equal if they have the same `id` or, without an `id`,
 * the same text.
 */
export function createItemTracker() {
  const hash = createHash('sha256');
  let count = 0;
  return {
    get count() {
      return count;
    },
    /** `item` is JSON text. */
    add(item: string): void {
      count += 1;
      const id = isObject(item) ? membersOf(item).get('id') : undefined;
      const name = id !== undefined && (isString(id) || isNumber(id)) ? id : item;
      hash.update(`${name.length} ${name}`); // the length delimits the name
    },
    digest: () => hash.copy().digest('base64url'),
  };
}

function toChangedList(): Error {
  return toUnreadableResponse('the list has changed since its first pages were sent');
}

/**
 * Retries a task after a temporary failure: a rate limit, or an outage of the token endpoint or Redis. Waits for the time in
 * `Retry-After`. Gives up after ten attempts or 100 s of waiting.
 */
async function withRetries<T>(task: () => Promise<T>, wait: Wait, signal: AbortSignal): Promise<T> {
  for (let tries = 1, waitedMs = 0; ; tries += 1) {
    try {
      return await task();
    } catch (error) {
      const pauseMs = retryAfterMs(error);
      waitedMs += pauseMs;
      if (tries >= MAX_TRIES || waitedMs > MAX_WAIT_MS) throw error;
      await wait(pauseMs, signal);
    }
  }
}

/** Returns the wait before a retry, in ms; Infinity for an error that is not temporary. */
function retryAfterMs(error: unknown): number {
  if (!(error instanceof AppError) || error.status !== 503) return Infinity;
  return (error.retryAfterSeconds ?? Infinity) * 1_000;
}
