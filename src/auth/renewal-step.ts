import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../platform/log.ts';
import type { Grant, SessionRecord, Ticket } from '../session/record.ts';
import { SessionEndedError } from '../session/session-ended.ts';
import type { SessionRecords } from '../session/session-records.ts';
import { GrantRefusedError, TokenEndpointError } from './oauth-client.ts';
import type { OAuthClient } from './oauth-client.ts';
import type { EarlierAttempt, RenewalAttempts } from './renewal-attempts.ts';
import type { RenewedGrants } from './renewed-grants.ts';

export interface RenewalStepOptions {
  readonly records: SessionRecords;
  readonly oauth: OAuthClient;
  readonly attempts: RenewalAttempts;
  readonly renewed: RenewedGrants;
  readonly log: Logger;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/**
 * What happens to one session under its lock. Each call rejects with SessionEndedError, TokenEndpointError or
 * StoreUnavailableError.
 */
export interface RenewalStep {
  /** The session as it stands now. */
  read(sessionId: string): Promise<Ticket>;
  /** Its grant where that is living and another than the unwanted one; else null. */
  wanted(ticket: Ticket, unwanted: string): Grant | null;
  /** Asks the token endpoint and stores what it brings. To be called with what was read under the lock. */
  renew(current: Ticket): Promise<Grant>;
}

const GRANT_ENDED = 'The service no longer takes the access that you gave.';

/** No session is renewed twice within this time. */
export const PACE_MS = 1_000;
/** Connecting again takes 1.25 s, a grant is offered every 0.25 s: whoever holds one has stored it twice over, or is dead. */
const HOLDER_STORES_WITHIN_MS = 3_000;
const LOOK_AGAIN_MS = 100;

/** Attempt noted → token endpoint → compare-and-set. */
export function createRenewalStep(options: RenewalStepOptions): RenewalStep {
  const { records, attempts, log, now } = options;

  const read = async (sessionId: string): Promise<Ticket> => {
    const found = await records.peek(sessionId);
    if (found === null) throw new SessionEndedError();
    return found.ticket;
  };

  const isOther = ({ record: { grant } }: Ticket, accessToken: string) => grant.accessToken !== accessToken;

  /** Ends the session, unless somebody has renewed it after all. */
  const endOrUseNewer = async (refused: Ticket, why: object): Promise<Grant> => {
    for (;;) {
      const again = await read(refused.id);
      if (isOther(again, refused.record.grant.accessToken)) return again.record.grant;
      if (await records.endUnchanged(again)) {
        log.info(why, 'session ended');
        throw new SessionEndedError(GRANT_ENDED);
      }
    }
  };

  /**
   * An attempt that nobody finished may be that of a process that lives, got its answer and waits for Redis to take it.
   * Asking with the same refresh token meanwhile could cost the session where the service rotates them.
   */
  const storedByHolder = async (current: Ticket): Promise<Grant | null> => {
    const giveUpAt = performance.now() + HOLDER_STORES_WITHIN_MS;
    while (performance.now() < giveUpAt) {
      const again = await read(current.id);
      if (isOther(again, current.record.grant.accessToken)) return again.record.grant;
      await delay(LOOK_AGAIN_MS);
    }
    return null;
  };

  const askService = async (record: SessionRecord, refreshToken: string): Promise<SessionRecord> => {
    const sinceMs = now() - (record.renewedAt ?? -Infinity);
    if (sinceMs < PACE_MS) await delay(Math.min(PACE_MS, PACE_MS - sinceMs));
    const grant = await options.oauth.renew(record.grant, refreshToken);
    return { ...record, grant, renewedAt: now() };
  };

  const afterFailure = async (current: Ticket, error: unknown, earlier: EarlierAttempt | null) => {
    if (error instanceof GrantRefusedError && error.error === 'invalid_grant') {
      return endOrUseNewer(current, { reason: 'invalid_grant', ...toLog(earlier) });
    }
    log.warn({ err: error, ...toLog(earlier) }, 'renewal failed; the session is kept');
    await attempts.fail(current, earlier).catch(() => {}); // it counts as broken off then
    throw error instanceof TokenEndpointError ? error : new TokenEndpointError(error);
  };

  return {
    read,
    wanted: (ticket, unwanted) =>
      isOther(ticket, unwanted) && ticket.record.grant.expiresAt > now() ? ticket.record.grant : null,
    async renew(current) {
      const { refreshToken } = current.record.grant;
      if (refreshToken === undefined) return endOrUseNewer(current, { reason: 'no refresh token' });
      const earlier = await attempts.begin(current);
      if (earlier?.state === 'open') {
        const stored = await storedByHolder(current);
        if (stored !== null) return stored;
      }
      let record: SessionRecord;
      try {
        record = await askService(current.record, refreshToken);
      } catch (error) {
        return afterFailure(current, error, earlier);
      }
      if (earlier !== null) log.info(toLog(earlier), 'renewed at another attempt');
      return options.renewed.store(current, record);
    },
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
