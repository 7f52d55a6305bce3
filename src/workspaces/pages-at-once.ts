import type { Request, RequestHandler } from 'express';
import { AppError } from '../errors.ts';
import { goneSignal } from './gone.ts';
import type { Session } from '../session/record.ts';
import { createAtOnce } from './concurrency.ts';
import type { AtOnceBounds } from './concurrency.ts';

/**
 * Lets no more pages of a session be under way in this process than `bounds` say; a further one is a 429. A page counts until
 * all of it is sent or its reader has gone: until then all of it waits in memory, also where nobody reads.
 */
export function createPagesAtOnce(
  bounds: AtOnceBounds,
  currentSession: (req: Request) => Session,
): RequestHandler {
  const enter = createAtOnce(bounds);
  return (req, res, next) => {
    const leave = enter(currentSession(req).id);
    if (leave === null) throw new AppError('too_many_pages');
    const gone = goneSignal(res);
    gone.addEventListener('abort', leave);
    if (gone.aborted) leave();
    next();
  };
}
