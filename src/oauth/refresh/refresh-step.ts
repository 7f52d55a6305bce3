import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../../observability/logger.ts';
import type { RequestContext } from '../../http/request-context.ts';
import { isSameGrant } from '../../session/record.ts';
import type { Grant, SessionRecord, Session } from '../../session/record.ts';
import { SessionEndedError } from '../../errors.ts';
import { toSessionMembers } from '../../session/events.ts';
import type { SessionEvents } from '../../session/events.ts';
import type { SessionStore } from '../../session/store.ts';
import { GrantRefusedError, TokenEndpointError } from '../client.ts';
import type { OAuthClient } from '../client.ts';
import { isOutage } from '../oauth-errors.ts';
import { SIGN_OF_LIFE_MS } from './journal.ts';
import type { EarlierAttempt, OwnAttempt, RenewalAttempts } from './journal.ts';
import type { HeldLock } from './lock.ts';
import type { RenewalMetrics } from './refresh-metrics.ts';
import type { RenewedGrants } from './pending-writes.ts';
import { NotSentError } from '../token-request.ts';

export interface RenewalStepOptions {
  readonly store: SessionStore;
  readonly oauth: OAuthClient;
  readonly attempts: RenewalAttempts;
  readonly renewed: RenewedGrants;
  /** Longest call of the token endpoint. */
  readonly tokenTimeoutSeconds: number;
  /** Whether a token request may begin: not in the last seconds of a drain, which would cut it off. */
  readonly mayBegin: () => boolean;
  readonly life: SessionEvents;
  /** Null where nobody reads metrics. */
  readonly metrics: RenewalMetrics | null;
  readonly log: Logger;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/**
 * Renews one session under its lock, from what was read under it; null where the lock was lost before the token
 * endpoint was asked. `begun` is told of the attempt once there is one; `by` is the request that it is for. Rejects with
 * SessionEndedError, TokenEndpointError or StoreUnavailableError.
 */
export type RenewalStep = (
  current: Session,
  lock: HeldLock,
  begun: (attempt: OwnAttempt) => void,
  by?: RequestContext,
) => Promise<Grant | null>;

const GRANT_ENDED = 'The service no longer takes the access that you gave. Sign in again to go on.';

/** No session is renewed twice within this time. */
export const PACE_MS = 1_000;
/** Connecting again takes 1.25 s at most: a holder who lives has given a sign by then, or stored what it holds. */
const DEAD_WITHOUT_SIGN_MS = 2 * SIGN_OF_LIFE_MS + 1_500;
const LOOK_AGAIN_MS = 100;
/** Beyond the time that its call of the token endpoint may take. */
const STORES_WITHIN_MS = 10_000;

/** What becomes of a renewal that has waited for another one as long as it may: it counts as failed by that. */
export function doesNotFinish(metrics: RenewalMetrics | null): TokenEndpointError {
  metrics?.failed('lock');
  return new TokenEndpointError(new Error('another renewal does not finish'));
}

/** The process ends before a token request could: another process may send one at once. */
export class ProcessEndsError extends TokenEndpointError {
  constructor() {
    super(new Error('this process is ending'));
  }
}

/** After an outage all sessions are refreshed at once. Most refreshes of a process at a time; the others wait. */
const MAX_REFRESHES = 32;

/** The end of an attempt before this one → its turn → attempt noted → token endpoint → compare-and-set. */
export function createRenewalStep(options: RenewalStepOptions): RenewalStep {
  const { store, attempts, life, metrics, log, now } = options;
  const acquire = createLimiter(MAX_REFRESHES);

  const read = async (sessionId: string, by: RequestContext | undefined): Promise<Session> => {
    const found = await store.peek(sessionId, by);
    if (found === null) throw new SessionEndedError();
    return found.ticket;
  };

  /** The grant that stands now, where somebody has renewed it; else null. */
  const newerThan = async (
    { id, record }: Session,
    by: RequestContext | undefined,
  ): Promise<Grant | null> => {
    const { grant } = (await read(id, by)).record;
    return isSameGrant(grant, record.grant) ? null : grant;
  };

  /** Ends the session, unless somebody has renewed it after all; `more` is said of its end. */
  const endOrUseNewer = async (
    refused: Session,
    reason: 'invalid_grant' | 'no_refresh_token',
    by: RequestContext | undefined,
    more: object = {},
  ): Promise<Grant> => {
    for (;;) {
      const again = await read(refused.id, by);
      if (!isSameGrant(again.record.grant, refused.record.grant)) return again.record.grant;
      if (await store.endUnchanged(again)) {
        metrics?.failed(reason);
        life.ended(again.id, reason, by, more);
        throw new SessionEndedError(GRANT_ENDED);
      }
    }
  };

  /**
   * An open attempt may be that of a process that lives: its lock was lost with Redis, and it still asks, or waits for
   * Redis to take what it got. To ask with the same refresh token meanwhile could cost the session where they rotate.
   */
  const storedByHolder = async (
    current: Session,
    earlier: EarlierAttempt,
    by: RequestContext | undefined,
  ): Promise<Grant | null> => {
    const giveUpAt = performance.now() + options.tokenTimeoutSeconds * 1_000 + STORES_WITHIN_MS;
    let { sign } = earlier;
    let deadAt = performance.now() + DEAD_WITHOUT_SIGN_MS;
    while (performance.now() < deadAt) {
      await delay(LOOK_AGAIN_MS);
      const [newer, note] = await Promise.all([newerThan(current, by), attempts.find(current)]);
      if (newer !== null) return newer;
      if (note !== null && note.state !== 'open')
        throw new TokenEndpointError(new Error('a renewal has just failed'));
      if (performance.now() > giveUpAt) throw doesNotFinish(metrics);
      if (note === null || note.sign === sign) continue;
      ({ sign } = note);
      deadAt = performance.now() + DEAD_WITHOUT_SIGN_MS;
    }
    return null;
  };

  const untilItsTurn = async ({ renewedAt = -Infinity }: SessionRecord) => {
    const sinceMs = now() - renewedAt;
    if (sinceMs < PACE_MS) await delay(Math.min(PACE_MS, PACE_MS - sinceMs));
  };

  const afterFailure = async (
    current: Session,
    error: unknown,
    attempt: OwnAttempt,
    earlier: EarlierAttempt | null,
    by: RequestContext | undefined,
  ) => {
    if (error instanceof GrantRefusedError && error.error === 'invalid_grant') {
      return endOrUseNewer(current, 'invalid_grant', by, toLog(earlier));
    }
    const isRefused = error instanceof GrantRefusedError && !isOutage(error.error);
    metrics?.failed(isRefused ? 'refused' : 'token_endpoint');
    log.warn(
      { err: error, ...toSessionMembers(current.id, by), ...toLog(earlier) },
      'renewal failed; the session is kept',
    );
    attempt.fail(earlier).catch(() => {}); // it counts as broken off then
    throw error instanceof TokenEndpointError ? error : new TokenEndpointError(error);
  };

  /** Notes the attempt, sends the token request and stores the new grant; null where the lock is lost. */
  const refresh = async (
    current: Session,
    refreshToken: string,
    earlier: EarlierAttempt | null,
    lock: HeldLock,
    begun: (attempt: OwnAttempt) => void,
    by: RequestContext | undefined,
  ): Promise<Grant | null> => {
    const newer = await newerThan(current, by);
    if (newer !== null) return newer;
    if (!options.mayBegin()) throw new ProcessEndsError();
    const attempt = await attempts.begin(current, lock);
    if (attempt === null) return null;
    begun(attempt);
    const maySend = () => lock.isFresh() && options.mayBegin();
    let grant: Grant;
    try {
      // A process that is stopped from here on may lose the lock, and another one may use the refresh token.
      grant = await options.oauth.renew(current.record.grant, refreshToken, by?.trace, maySend);
    } catch (error) {
      if (error instanceof NotSentError) return null;
      return afterFailure(current, error, attempt, earlier, by);
    }
    const stored = await options.renewed.store(current, { ...current.record, grant, renewedAt: now() });
    life.renewed(current.id, by);
    if (earlier !== null)
      log.info({ ...toSessionMembers(current.id, by), ...toLog(earlier) }, 'renewed at another attempt');
    return stored;
  };

  return async (current, lock, begun, by) => {
    const { refreshToken, expiresAt } = current.record.grant;
    if (refreshToken === undefined) {
      // Refused though it lives: the service may think better of it, and only a spent one is the end.
      if (expiresAt > now()) {
        metrics?.failed('no_refresh_token');
        throw new TokenEndpointError(new Error('there is no refresh token'));
      }
      return endOrUseNewer(current, 'no_refresh_token', by);
    }
    const earlier = await attempts.find(current);
    if (earlier?.state === 'open') {
      const stored = await storedByHolder(current, earlier, by);
      if (stored !== null) return stored;
    }
    await untilItsTurn(current.record);
    const release = await acquire(options.tokenTimeoutSeconds * 1_000);
    if (release === null) {
      metrics?.failed('token_endpoint');
      throw new TokenEndpointError(new Error('too many refreshes at once'));
    }
    try {
      return await refresh(current, refreshToken, earlier, lock, begun, by);
    } finally {
      release();
    }
  };
}

/**
 * Tells two ends of a broken attempt apart: where the next one succeeds, the service had not answered it, or its
 * refresh tokens can be used again; where that is `invalid_grant`, the service had answered, and nobody got it.
 */
function toLog(earlier: EarlierAttempt | null) {
  if (earlier === null) return {};
  const attemptBefore = earlier.state === 'failed' ? 'failed' : 'broken off';
  return { attemptBefore, attemptBegunAt: new Date(earlier.begunAt).toISOString() };
}

/**
 * Lets `most` refreshes run at a time, in the order in which they came. Resolves with a function that makes room for the
 * next, or with null where there was no room within the time given (ms).
 */
function createLimiter(most: number): (withinMs: number) => Promise<(() => void) | null> {
  let active = 0;
  const waiting = new Set<() => void>();
  const release = () => {
    active -= 1;
    const [next] = waiting;
    next?.();
  };
  return async (withinMs) => {
    if (active < most) {
      active += 1;
      return release;
    }
    return new Promise((resolve) => {
      const start = () => {
        clearTimeout(tooLate);
        waiting.delete(start);
        active += 1;
        resolve(release);
      };
      const tooLate = setTimeout(() => {
        waiting.delete(start);
        resolve(null);
      }, withinMs);
      waiting.add(start);
    });
  };
}
