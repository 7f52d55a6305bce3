import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../platform/log.ts';
import type { Grant, SessionRecord, Ticket } from '../session/record.ts';
import { SessionEndedError } from '../session/session-ended.ts';
import type { SessionRecords } from '../session/session-records.ts';
import { GrantRefusedError, TokenEndpointError } from './oauth-client.ts';
import type { OAuthClient } from './oauth-client.ts';
import type { HeldLock, RenewalLocks } from './renewal-lock.ts';
import type { RenewedGrants } from './renewed-grants.ts';

export interface RenewalOptions {
  readonly records: SessionRecords;
  readonly oauth: OAuthClient;
  readonly locks: RenewalLocks;
  readonly renewed: RenewedGrants;
  /** Longest call of the token endpoint. */
  readonly tokenTimeoutSeconds: number;
  readonly log: Logger;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/**
 * Gives a living grant of a session whose access token is another than `unwanted`. Rejects with SessionEndedError,
 * TokenEndpointError or StoreUnavailableError.
 */
export type Renew = (sessionId: string, unwanted: string) => Promise<Grant>;

/** No session is renewed twice within this time. */
export const PACE_MS = 1_000;
/** Another process may hold the lock for one call of the token endpoint, its own waits and a crash in between. */
const WAIT_BEYOND_TOKEN_TIMEOUT_MS = 7_000;
const LOOK_AGAIN_MS = 40;

/**
 * Lock → read again → still unwanted? → token endpoint → compare-and-set. Nothing that was read before the lock is
 * used under it, and whoever does not get the lock watches the record for the winner's result.
 */
export function createRenewal(options: RenewalOptions): Renew {
  const { records, locks, renewed, log, now } = options;

  const readAgain = async (sessionId: string): Promise<Ticket> => {
    const found = await records.peek(sessionId);
    if (found === null) throw new SessionEndedError();
    return found.ticket;
  };

  /** The grant as another request or process has renewed it, where it has. */
  const wanted = ({ record: { grant } }: Ticket, unwanted: string): Grant | null =>
    grant.accessToken !== unwanted && grant.expiresAt > now() ? grant : null;

  /** Ends the session, unless somebody has renewed it after all. */
  const endOrUseNewer = async (refused: Ticket, reason: string): Promise<Grant> => {
    for (;;) {
      const again = await readAgain(refused.id);
      if (again.record.grant.accessToken !== refused.record.grant.accessToken) return again.record.grant;
      if (await records.endUnchanged(again)) {
        log.info({ reason }, 'session ended');
        throw new SessionEndedError();
      }
    }
  };

  const askService = async (record: SessionRecord, refreshToken: string): Promise<SessionRecord> => {
    const sinceMs = now() - (record.renewedAt ?? -Infinity);
    if (sinceMs < PACE_MS) await delay(Math.min(PACE_MS, PACE_MS - sinceMs));
    const grant = await options.oauth.renew(record.grant, refreshToken);
    return { ...record, grant, renewedAt: now() };
  };

  const renewNow = async (sessionId: string, unwanted: string): Promise<Grant> => {
    const current = await readAgain(sessionId);
    const newer = wanted(current, unwanted);
    if (newer !== null) return newer;
    const { refreshToken } = current.record.grant;
    if (refreshToken === undefined) return endOrUseNewer(current, 'no refresh token');
    let record: SessionRecord;
    try {
      record = await askService(current.record, refreshToken);
    } catch (error) {
      if (error instanceof GrantRefusedError && error.error === 'invalid_grant') {
        return endOrUseNewer(current, 'invalid_grant');
      }
      log.warn({ err: error }, 'renewal failed; the session is kept');
      throw error instanceof TokenEndpointError ? error : new TokenEndpointError(error);
    }
    return renewed.store(current, record);
  };

  /** A lock that can't be given back runs out by itself. */
  const letGo = async (lock: HeldLock, how: 'release' | 'coolDown') => {
    await lock[how]().catch((error: unknown) => log.warn({ err: error }, 'renewal lock not released'));
  };

  const underLock = async (lock: HeldLock, sessionId: string, unwanted: string): Promise<Grant> => {
    try {
      const grant = await renewNow(sessionId, unwanted);
      await letGo(lock, 'release');
      return grant;
    } catch (error) {
      // A grant that Redis has not taken yet keeps the lock: nobody may present its old refresh token meanwhile.
      const isHandedOver = renewed.whenStored(sessionId, async () => letGo(lock, 'release'));
      if (!isHandedOver) await letGo(lock, error instanceof TokenEndpointError ? 'coolDown' : 'release');
      throw error;
    }
  };

  return async (sessionId, unwanted) => {
    const giveUpAt = performance.now() + options.tokenTimeoutSeconds * 1_000 + WAIT_BEYOND_TOKEN_TIMEOUT_MS;
    for (;;) {
      const unstored = renewed.offerAgain(sessionId);
      if (unstored !== null) return unstored;
      const lock = await locks.acquire(sessionId);
      if (typeof lock === 'object') return underLock(lock, sessionId, unwanted);
      const newer = wanted(await readAgain(sessionId), unwanted);
      if (newer !== null) return newer;
      if (lock === 'cooling') throw new TokenEndpointError(new Error('a renewal has just failed'));
      if (performance.now() > giveUpAt) {
        throw new TokenEndpointError(new Error('another renewal does not finish'));
      }
      await delay(LOOK_AGAIN_MS * (0.5 + Math.random()));
    }
  };
}
