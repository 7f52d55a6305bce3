import { AppError } from '../errors.ts';
import { createDeferred } from '../promises.ts';
import { quotaOf } from '../upstream/connection-pool.ts';
import { CallAbortedError, ServiceTimeoutError } from './service-call-errors.ts';

/** Keeps calls in flight within bounds, so that one user or a stuck service can't take the rest down. */
export interface CallBounds {
  /** Counts a call of a session in. Throws `too_busy` where the process or the session has as many as it may. */
  enter(sessionId: string): CallSlot;
  /** Calls in flight now. */
  readonly inFlight: number;
}

/** The place of one call. */
export interface CallSlot {
  /**
   * Null where the call may ask the service now, as nearly always: else a promise of the session's turn. It rejects
   * with ServiceTimeoutError after `withinMs`, and with CallAbortedError where the slot is left meanwhile. Throws
   * CallAbortedError where it has been left already.
   */
  turn(withinMs: number): Promise<void> | null;
  /** The call is over. To leave twice does nothing. */
  leave(): void;
}

export interface CallBoundsOptions {
  /** Most calls in flight in this process. */
  readonly mostCalls: number;
  /** Most of them of one session, which has no more than its share of them either. */
  readonly mostCallsPerSession: number;
  /** Connections to the service. One session uses its share of them, and its other calls wait. */
  readonly connections: number;
}

interface SessionCalls {
  inFlight: number;
  /** Those whose turn it is. */
  asking: number;
  readonly waiting: Set<() => void>;
}

/** A call that waits for its turn. */
interface Wait {
  readonly promise: Promise<void>;
  readonly giveUp: (error: Error) => void;
}

export function createCallBounds(options: CallBoundsOptions): CallBounds {
  const sessions = new Map<string, SessionCalls>();
  /** Those with calls that wait for their turn, the first to wait first. */
  const withWaiting = new Set<SessionCalls>();
  let inFlight = 0;
  let asking = 0;
  const mayEnter = (session: SessionCalls) =>
    session.inFlight < options.mostCallsPerSession &&
    session.inFlight < quotaOf(options.mostCalls, inFlight - session.inFlight);
  const mayAsk = (session: SessionCalls) =>
    session.asking < quotaOf(options.connections, asking - session.asking);

  const waitForTurn = (session: SessionCalls, withinMs: number, onTurn: () => void): Wait => {
    const { promise, resolve, reject } = createDeferred<void>();
    const end = () => {
      clearTimeout(tooLate);
      session.waiting.delete(go);
      if (session.waiting.size === 0) withWaiting.delete(session);
    };
    const go = () => {
      end();
      onTurn();
      resolve();
    };
    const giveUp = (error: Error) => {
      end();
      reject(error);
    };
    const tooLate = setTimeout(() => giveUp(new ServiceTimeoutError()), withinMs);
    session.waiting.add(go);
    withWaiting.add(session);
    return { promise, giveUp };
  };

  /** What one session leaves may be room for calls of another. */
  const giveTurns = () => {
    for (const session of withWaiting) {
      for (const go of session.waiting) {
        if (!mayAsk(session)) break;
        go();
      }
    }
  };

  const enter = (sessionId: string): CallSlot => {
    let session = sessions.get(sessionId);
    if (inFlight >= options.mostCalls)
      throw new AppError('too_busy', { detail: 'This server has as many requests in flight as it takes.' });
    if (session !== undefined && !mayEnter(session)) {
      throw new AppError('too_busy', {
        detail: 'This session has as many requests in flight as it may have.',
      });
    }
    if (session === undefined)
      sessions.set(sessionId, (session = { inFlight: 0, asking: 0, waiting: new Set() }));
    session.inFlight += 1;
    inFlight += 1;
    return createSlot(sessionId, session);
  };

  const createSlot = (sessionId: string, session: SessionCalls): CallSlot => {
    let state: 'idle' | 'asking' | 'left' = 'idle';
    let wait: Wait | null = null;
    return {
      turn(withinMs) {
        if (state === 'left') throw new CallAbortedError(); // nobody would leave its place again
        const begin = () => {
          state = 'asking';
          session.asking += 1;
          asking += 1;
        };
        if (mayAsk(session)) {
          begin();
          return null;
        }
        wait = waitForTurn(session, withinMs, begin);
        return wait.promise;
      },
      leave() {
        if (state === 'left') return;
        wait?.giveUp(new CallAbortedError()); // nothing, where its turn has come
        session.inFlight -= 1;
        inFlight -= 1;
        if (state === 'asking') {
          session.asking -= 1;
          asking -= 1;
          giveTurns();
        }
        state = 'left';
        if (session.inFlight === 0) sessions.delete(sessionId);
      },
    };
  };

  return {
    enter,
    get inFlight() {
      return inFlight;
    },
  };
}
