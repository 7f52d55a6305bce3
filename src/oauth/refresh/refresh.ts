import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../../observability/logger.ts';
import type { RequestContext } from '../../http/request-context.ts';
import type { Grant } from '../../session/record.ts';
import { SessionEndedError } from '../../errors.ts';
import type { SessionStore } from '../../session/store.ts';
import { TokenEndpointError } from '../client.ts';
import type { OwnAttempt } from './journal.ts';
import type { HeldLock, RenewalLocks } from './lock.ts';
import type { RenewalMetrics } from './refresh-metrics.ts';
import { ProcessEndsError, doesNotFinish } from './refresh-step.ts';
import type { RenewalStep } from './refresh-step.ts';
import { WAIT_BEYOND_TOKEN_TIMEOUT_MS } from './refresh-times.ts';
import type { RenewedGrants } from './pending-writes.ts';

export interface RenewalOptions {
  readonly step: RenewalStep;
  readonly store: SessionStore;
  readonly locks: RenewalLocks;
  readonly renewed: RenewedGrants;
  /** Longest call of the token endpoint. */
  readonly tokenTimeoutSeconds: number;
  /** Null where nobody reads metrics. */
  readonly metrics: RenewalMetrics | null;
  readonly log: Logger;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** What a caller can't use any more: spent, refused by the service, or soon spent. */
export type Unwanted = Pick<Grant, 'accessToken' | 'expiresAt'>;

/** A living grant; `led` where it was this process that asked the token endpoint for it. */
export interface Renewed {
  readonly grant: Grant;
  readonly led: boolean;
}

export interface Renewals {
  /**
   * Gives a living grant of a session that was renewed since the unwanted one; `by` is the request that asks first. Rejects
   * with SessionEndedError, TokenEndpointError or StoreUnavailableError.
   */
  renew(sessionId: string, unwanted: Unwanted, by?: RequestContext): Promise<Renewed>;
  /** Resolves when nothing is left to clean up. */
  settled(): Promise<void>;
}

/** Each wait for another's result is longer than the one before, and at most as long as somebody will hardly notice. */
const LOOK_AGAIN_MS = 40;
const LOOK_AGAIN_AT_MOST_MS = 250;

/** Whether a grant was renewed since; a service may well give the same access token again, for longer. */
export function isNewer(grant: Grant, unwanted: Unwanted): boolean {
  return grant.accessToken !== unwanted.accessToken || grant.expiresAt > unwanted.expiresAt;
}

/**
 * Lock → read again → still unwanted? → token endpoint → compare-and-set. Nothing that was read before the lock is
 * used under it, and whoever does not get the lock watches the record for the winner's result.
 */
export function createRenewals(options: RenewalOptions): Renewals {
  const { step, store, locks, renewed, metrics, log, now } = options;

  /** Nobody waits for this, and what can't be taken away runs out by itself. */
  const cleaning = new Set<Promise<void>>();
  const cleanUp = (...steps: (() => Promise<unknown>)[]) => {
    const run = async () => {
      for (const each of steps) {
        await each().catch((error: unknown) => {
          log.warn({ err: error }, 'what a renewal left in Redis has to run out');
        });
      }
    };
    const done = run().finally(() => cleaning.delete(done));
    cleaning.add(done);
  };
  /** First the note, then the lock: the next one to renew finds none. */
  const finish = (lock: HeldLock, attempt: OwnAttempt | null) => {
    cleanUp(...(attempt === null ? [] : [attempt.finish]), lock.release);
  };
  const giveUp = (lock: HeldLock, attempt: OwnAttempt | null) => {
    attempt?.abandon();
    cleanUp(lock.release);
  };

  const read = async (sessionId: string, by: RequestContext | undefined) => {
    const found = await store.peek(sessionId, by);
    if (found === null) throw new SessionEndedError();
    return found.ticket;
  };
  const wanted = (grant: Grant, unwanted: Unwanted): Grant | null =>
    isNewer(grant, unwanted) && grant.expiresAt > now() ? grant : null;

  /** Null where the lock was lost before anything was asked. */
  const underLock = async (
    lock: HeldLock,
    sessionId: string,
    unwanted: Unwanted,
    by: RequestContext | undefined,
  ): Promise<Renewed | null> => {
    let attempt: OwnAttempt | null = null;
    const begun = (own: OwnAttempt) => {
      attempt = own;
    };
    try {
      const current = await read(sessionId, by);
      const grant = wanted(current.record.grant, unwanted) ?? (await step(current, lock, begun, by));
      finish(lock, attempt);
      return grant && { grant, led: attempt !== null };
    } catch (error) {
      const outcome = renewed.outcome(sessionId);
      if (error instanceof SessionEndedError || error instanceof ProcessEndsError) finish(lock, attempt);
      else if (error instanceof TokenEndpointError) cleanUp(lock.coolDown);
      else if (outcome === null) giveUp(lock, attempt);
      // Until Redis takes the grant nobody may present its old refresh token.
      else void outcome.then((stands) => (stands ? finish(lock, attempt) : giveUp(lock, attempt)));
      throw error;
    }
  };

  /** Null where another one holds the lock, or ours was lost: it is to be tried again. */
  const tryOnce = async (
    sessionId: string,
    unwanted: Unwanted,
    by: RequestContext | undefined,
  ): Promise<Renewed | null> => {
    const unstored = await renewed.offerAgain(sessionId);
    if (unstored !== null && wanted(unstored, unwanted) !== null) return { grant: unstored, led: false };
    const lock = await locks.acquire(sessionId);
    if (lock !== 'taken' && 'release' in lock) return underLock(lock, sessionId, unwanted, by);
    const newer = wanted((await read(sessionId, by)).record.grant, unwanted);
    if (newer !== null) return { grant: newer, led: false };
    if (lock === 'taken') return null;
    throw new TokenEndpointError(new Error('a renewal has just failed'), lock.coolingMs);
  };

  return {
    async renew(sessionId, unwanted, by) {
      const beganAt = performance.now();
      const giveUpAt = beganAt + options.tokenTimeoutSeconds * 1_000 + WAIT_BEYOND_TOKEN_TIMEOUT_MS;
      let waitMs = 0;
      let waitedMs = 0;
      try {
        for (;;) {
          const done = await tryOnce(sessionId, unwanted, by);
          if (done !== null) return done;
          if (performance.now() > giveUpAt) throw doesNotFinish(metrics);
          waitMs = waitMs === 0 ? LOOK_AGAIN_MS : Math.min(1.5 * waitMs, LOOK_AGAIN_AT_MOST_MS);
          await delay(waitMs * (0.5 + Math.random()));
          waitedMs = performance.now() - beganAt; // whoever gets the lock at last renews by himself: that is no wait
        }
      } finally {
        if (waitedMs > 0) metrics?.waited(waitedMs);
      }
    },
    async settled() {
      await Promise.allSettled(cleaning);
    },
  };
}
