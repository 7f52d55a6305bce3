import type { Request, RequestHandler } from 'express';
import { AppError } from '../errors.ts';
import type { Session } from '../session/record.ts';
import { quotaOf } from '../upstream/quota.ts';
import { abortSignalOf } from './api-client.ts';

/** How many requests of one kind may be in flight in this process. */
export interface PageLimits {
  /** For one session. */
  readonly perSession: number;
  /** For all sessions. One session gets half of what the others leave, but at least two. Unlimited by default. */
  readonly total?: number;
}

/** A client may request the next page before the process has noticed the end of the previous one. */
const LEAST_PER_SESSION = 2;

/**
 * Counts the requests of each session in flight. Returns a function that ends the request, or null for a request over the
 * limit. Each request takes memory and connections to the service, so no session may take them all. Unlike the gateway's
 * limits, it queues nothing.
 */
export function createConcurrencyLimiter({ perSession, total = Infinity }: PageLimits) {
  const inFlight = new Map<string, number>();
  let all = 0;
  return (sessionId: string): (() => void) | null => {
    const count = inFlight.get(sessionId) ?? 0;
    const quota = Math.max(LEAST_PER_SESSION, quotaOf(total, all - count));
    if (count >= Math.min(perSession, quota)) return null;
    inFlight.set(sessionId, count + 1);
    all += 1;
    return () => {
      all -= 1;
      const left = (inFlight.get(sessionId) ?? 1) - 1;
      if (left > 0) inFlight.set(sessionId, left);
      else inFlight.delete(sessionId);
    };
  };
}

/**
 * Refuses pages over the limit with a 429. A page counts until it is sent or the client disconnects. Until then it stays in
 * memory, even if the client reads nothing.
 */
export function limitPages(limits: PageLimits, currentSession: (req: Request) => Session): RequestHandler {
  const begin = createConcurrencyLimiter(limits);
  return (req, res, next) => {
    const end = begin(currentSession(req).id);
    if (end === null) throw new AppError('too_many_pages');
    const signal = abortSignalOf(res);
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
    next();
  };
}
