import type { Request, RequestHandler } from 'express';
import { AppError } from '../errors.ts';
import type { Session } from '../session/record.ts';
import { quotaOf } from '../upstream/quota.ts';
import { abortSignalOf } from './api-client.ts';

/** Limits on concurrent requests of one kind in this process. */
export interface PageLimits {
  /** Per session. */
  readonly perSession: number;
  /** Limit for all sessions; unlimited by default. A session can use half of what other sessions leave free, but at least two requests. */
  readonly total?: number;
}

/** At least two, because a client may request the next page before this process notices the end of the previous request. */
const LEAST_PER_SESSION = 2;

/**
 * Counts each session's requests in flight, so that one session can't take all memory and connections to the service. The
 * returned function begins a request, and returns a function that ends the request, or null if the limit has been reached.
 * Unlike the gateway, this limiter doesn't queue requests.
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
 * Refuses pages over the limit with a 429. A page is counted until it is sent or the client disconnects, because the page stays
 * in memory until then.
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
