import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../platform/log.ts';
import type { Grant } from '../session/record.ts';
import { SessionEndedError } from '../session/session-ended.ts';
import { TokenEndpointError } from './oauth-client.ts';
import type { RenewalAttempts } from './renewal-attempts.ts';
import type { HeldLock, RenewalLocks } from './renewal-lock.ts';
import type { RenewalStep } from './renewal-step.ts';
import type { RenewedGrants } from './renewed-grants.ts';

export interface RenewalOptions {
  readonly step: RenewalStep;
  readonly locks: RenewalLocks;
  readonly attempts: RenewalAttempts;
  readonly renewed: RenewedGrants;
  /** Longest call of the token endpoint. */
  readonly tokenTimeoutSeconds: number;
  readonly log: Logger;
}

/**
 * Gives a living grant of a session whose access token is another than `unwanted`. Rejects with SessionEndedError,
 * TokenEndpointError or StoreUnavailableError.
 */
export type Renew = (sessionId: string, unwanted: string) => Promise<Grant>;

/** Another process may hold the lock for one call of the token endpoint, its own waits and a crash in between. */
const WAIT_BEYOND_TOKEN_TIMEOUT_MS = 10_000;
/** Each wait for another's result is longer than the one before, and at most as long as somebody will hardly notice. */
const LOOK_AGAIN_MS = 40;
const LOOK_AGAIN_AT_MOST_MS = 250;

/**
 * Lock → read again → still unwanted? → token endpoint → compare-and-set. Nothing that was read before the lock is
 * used under it, and whoever does not get the lock watches the record for the winner's result.
 */
export function createRenewal({ step, locks, renewed, log, ...options }: RenewalOptions): Renew {
  /** What can't be taken away runs out by itself. */
  const bestEffort = async (done: Promise<unknown>, what: string) => {
    await done.catch((error: unknown) => log.warn({ err: error }, `${what} left to run out`));
  };
  const release = async (lock: HeldLock) => bestEffort(lock.release(), 'renewal lock');
  /** First the note, then the lock: the next holder's note is not ours to take away. */
  const finish = async (lock: HeldLock, sessionId: string) => {
    await bestEffort(options.attempts.finish(sessionId), 'note of a renewal');
    await release(lock);
  };

  const underLock = async (lock: HeldLock, sessionId: string, unwanted: string): Promise<Grant> => {
    try {
      const current = await step.read(sessionId);
      const grant = step.wanted(current, unwanted) ?? (await step.renew(current));
      await finish(lock, sessionId);
      return grant;
    } catch (error) {
      const outcome = renewed.outcome(sessionId);
      if (error instanceof SessionEndedError) await finish(lock, sessionId);
      else if (error instanceof TokenEndpointError) await bestEffort(lock.coolDown(), 'renewal lock');
      else if (outcome === null) await release(lock);
      // Until Redis takes the grant nobody may present its old refresh token.
      else void outcome.then(async (stands) => (stands ? finish(lock, sessionId) : release(lock)));
      throw error;
    }
  };

  return async (sessionId, unwanted) => {
    const giveUpAt = performance.now() + options.tokenTimeoutSeconds * 1_000 + WAIT_BEYOND_TOKEN_TIMEOUT_MS;
    for (let waitMs = LOOK_AGAIN_MS; ; waitMs = Math.min(1.5 * waitMs, LOOK_AGAIN_AT_MOST_MS)) {
      const unstored = await renewed.offerAgain(sessionId);
      if (unstored !== null && unstored.accessToken !== unwanted) return unstored;
      const lock = await locks.acquire(sessionId);
      const isHeld = lock !== 'taken' && 'release' in lock;
      if (isHeld) return underLock(lock, sessionId, unwanted);
      const newer = step.wanted(await step.read(sessionId), unwanted);
      if (newer !== null) return newer;
      if (lock !== 'taken')
        throw new TokenEndpointError(new Error('a renewal has just failed'), lock.coolingMs);
      if (performance.now() > giveUpAt) {
        throw new TokenEndpointError(new Error('another renewal does not finish'));
      }
      await delay(waitMs * (0.5 + Math.random()));
    }
  };
}
