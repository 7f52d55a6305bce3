import { quotaOf } from '../upstream/connection-pool.ts';

/** Lets a session in, and gives what it leaves with; null where it has enough under way already. */
type Enter = (sessionId: string) => (() => void) | null;

/** How many of one kind are under way in this process at a time. */
export interface AtOnceBounds {
  /** Most of a session. */
  readonly most: number;
  /** A session has no more than half of those that others leave of them, but at least two; unbounded unless told. */
  readonly places?: number;
}

/** What somebody has just left may not be over yet when the next one is asked for. */
const LEAST = 2;

/**
 * Counts what a session has under way in this process of one kind, and lets in no more than it may have: each takes connections
 * to the service, and memory, and neither one session nor a few must take those of all.
 */
export function createAtOnce({ most, places = Infinity }: AtOnceBounds): Enter {
  const underWay = new Map<string, number>();
  let all = 0;
  return (sessionId) => {
    const count = underWay.get(sessionId) ?? 0;
    if (count >= Math.min(most, Math.max(LEAST, quotaOf(places, all - count)))) return null;
    underWay.set(sessionId, count + 1);
    all += 1;
    return () => {
      all -= 1;
      const left = (underWay.get(sessionId) ?? 1) - 1;
      if (left > 0) underWay.set(sessionId, left);
      else underWay.delete(sessionId);
    };
  };
}
