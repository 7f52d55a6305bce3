import { AppError } from '../errors.ts';
import { createDeferred } from '../promises.ts';
import { quotaOf } from '../upstream/quota.ts';
import { RequestAbortedError } from './api-request.ts';

/** The slot of a request in flight. */
export type RequestSlot = ReturnType<ReturnType<typeof createConcurrencyLimits>['acquire']>;

interface SessionLoad {
  inFlight: number;
  /** Number of requests that have been granted a connection to the service. */
  connected: number;
  /** For each waiting request, a callback that lets the request take a connection. */
  readonly waiting: Set<() => void>;
}

/**
 * Limits requests in flight, so that neither a busy session nor a slow service blocks other sessions. Requests above a session's request
 * quota are refused. Requests that exceed a session's connection quota wait.
 */
export function createConcurrencyLimits(limits: {
  readonly requests: number;
  readonly requestsPerSession: number;
  readonly connections: number;
}) {
  const sessions = new Map<string, SessionLoad>();
  /** Sessions with waiting requests. The session that has waited longest comes first. */
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

  /** Lets waiting requests from any session continue after a connection has become available. */
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
    /** Takes a connection without waiting. Returns false if the session may not use another one. */
    const tryConnect = (): boolean => {
      if (!mayConnect(session)) return false;
      connect();
      return true;
    };
    return {
      tryConnect,
      /**
       * Returns null if the request may use a connection immediately. Otherwise returns a promise that resolves once the
       * session may use another connection. The promise rejects with `service_timeout` after `timeoutMs`, or with
       * RequestAbortedError when the slot is released. Throws RequestAbortedError if the slot has already been released.
       */
      waitForConnection(timeoutMs: number): Promise<void> | null {
        if (state === 'released') throw new RequestAbortedError(); // a connection taken now would never be released
        if (tryConnect()) return null;
        const { promise, cancel } = wait(session, timeoutMs, connect);
        cancelWait = cancel;
        return promise;
      },
      /** Stops counting the request. Further calls have no effect. */
      release(): void {
        if (state === 'released') return;
        cancelWait?.(new RequestAbortedError()); // created only after a wait, because an error captures a stack trace
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
    /** Counts a request for a session. Throws `too_busy` if the process or the session has reached its limit. */
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
