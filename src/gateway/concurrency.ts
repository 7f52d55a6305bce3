import { AppError } from '../errors.ts';
import { createDeferred } from '../promises.ts';
import { quotaOf } from '../upstream/quota.ts';
import { RequestAbortedError } from './api-request.ts';

/** One request in flight. */
export type RequestSlot = ReturnType<ReturnType<typeof createConcurrencyLimits>['acquire']>;

interface SessionLoad {
  inFlight: number;
  /** Requests that may use a connection to the service. */
  connected: number;
  /** One function for each request that waits for a connection. It lets that request use one. */
  readonly waiting: Set<() => void>;
}

/**
 * Limits the requests in flight, so that neither one session nor a slow service stops the requests of other sessions. The
 * gateway refuses a session's requests past its quota of requests. Those past its quota of connections wait.
 */
export function createConcurrencyLimits(limits: {
  readonly requests: number;
  readonly requestsPerSession: number;
  readonly connections: number;
}) {
  const sessions = new Map<string, SessionLoad>();
  /** Sessions with requests that wait, in the order in which they began to wait. */
  const waitingSessions = new Set<SessionLoad>();
  let inFlight = 0;
  let connected = 0;

  const mayConnect = (session: SessionLoad) =>
    session.connected < quotaOf(limits.connections, connected - session.connected);

  const wait = (session: SessionLoad, timeoutMs: number, onStart: () => void) => {
    const { promise, resolve, reject } = createDeferred<void>();
    const leave = () => {
      clearTimeout(timer);
      session.waiting.delete(start);
      if (session.waiting.size === 0) waitingSessions.delete(session);
    };
    const start = () => {
      leave();
      onStart();
      resolve();
    };
    const cancel = (error: Error) => {
      leave();
      reject(error);
    };
    const timer = setTimeout(() => {
      cancel(new AppError('service_timeout', { cause: new Error('no connection in time') }));
    }, timeoutMs);
    session.waiting.add(start);
    waitingSessions.add(session);
    return { promise, cancel };
  };

  /** Starts waiting requests, of any session, after a connection has become free. */
  const startWaiting = () => {
    for (const session of waitingSessions) {
      for (const start of session.waiting) {
        if (!mayConnect(session)) break;
        start();
      }
    }
  };

  const createSlot = (sessionId: string, session: SessionLoad) => {
    let state: 'acquired' | 'connected' | 'released' = 'acquired';
    let cancelWait: ((error: Error) => void) | null = null;
    const connect = () => {
      state = 'connected';
      session.connected += 1;
      connected += 1;
    };
    return {
      /**
       * Returns null if the request may use a connection at once. Otherwise returns a promise that resolves once the session
       * may use another connection. It rejects with `service_timeout` after `timeoutMs`, and with RequestAbortedError when the
       * slot is released. Throws RequestAbortedError for a slot that was released before.
       */
      waitForConnection(timeoutMs: number): Promise<void> | null {
        if (state === 'released') throw new RequestAbortedError(); // no second release() would free the connection
        if (mayConnect(session)) {
          connect();
          return null;
        }
        const { promise, cancel } = wait(session, timeoutMs, connect);
        cancelWait = cancel;
        return promise;
      },
      /** Stops counting the request. Does nothing the second time. */
      release(): void {
        if (state === 'released') return;
        cancelWait?.(new RequestAbortedError()); // costs a stack trace, so only for a request that waits
        session.inFlight -= 1;
        inFlight -= 1;
        if (session.inFlight === 0) sessions.delete(sessionId);
        const wasConnected = state === 'connected';
        state = 'released';
        if (!wasConnected) return;
        session.connected -= 1;
        connected -= 1;
        startWaiting();
      },
    };
  };

  return {
    /** Counts a request of a session. Throws `too_busy` where the process or the session is at its limit. */
    acquire(sessionId: string) {
      const session = sessions.get(sessionId) ?? { inFlight: 0, connected: 0, waiting: new Set() };
      if (inFlight >= limits.requests)
        throw new AppError('too_busy', {
          detail: 'This server has too many requests in flight. Try again in a second.',
        });
      const quota = quotaOf(limits.requests, inFlight - session.inFlight);
      if (session.inFlight >= Math.min(limits.requestsPerSession, quota))
        throw new AppError('too_busy', {
          detail: 'This session has too many requests in flight. Send fewer at once.',
        });
      sessions.set(sessionId, session);
      session.inFlight += 1;
      inFlight += 1;
      return createSlot(sessionId, session);
    },
    get inFlight(): number {
      return inFlight;
    },
  };
}
