import type { Logger } from '../platform/log.ts';
import { StoreUnavailableError } from '../platform/errors.ts';
import type { Grant, SessionRecord, Ticket } from '../session/record.ts';
import { SessionEndedError } from '../session/session-ended.ts';
import type { SessionRecords } from '../session/session-records.ts';
import { GrantRefusedError, TokenEndpointError } from './oauth-client.ts';
import type { OAuthClient } from './oauth-client.ts';
import type { HeldLock, RenewalLocks } from './renewal-lock.ts';

export interface RenewalOptions {
  readonly records: SessionRecords;
  readonly oauth: OAuthClient;
  readonly locks: RenewalLocks;
  readonly tokenTimeoutSeconds: number;
  readonly log: Logger;
  readonly now: () => number;
  /** Waits for real milliseconds, whatever `now` says. */
  readonly wait: (ms: number) => Promise<void>;
}

/**
 * Renews the grant of a session: a grant whose access token is not the ticket's. Rejects with SessionEndedError,
 * TokenEndpointError or StoreUnavailableError.
 */
export interface Renewal {
  (ticket: Ticket): Promise<Grant>;
  /** Resolves when no renewed grant waits to be stored any more. */
  settled(): Promise<void>;
}

/** No session is renewed twice within this time. */
export const PACE_MS = 1_000;
/** Another process may hold the lock for one call of the token endpoint, its own waits and a crash in between. */
const WAIT_BEYOND_TOKEN_TIMEOUT_MS = 7_000;
const LOOK_AGAIN_MS = 40;
/** A renewed grant that Redis does not take is offered again for this long. */
const STORE_WITHIN_MS = 15_000;
const STORE_AGAIN_MS = 250;

/**
 * Lock → read again → still stale? → token endpoint → compare-and-set. Nothing that was read before the lock is used
 * under it, and whoever does not get the lock watches the record for the winner's result.
 */
export function createRenewal(options: RenewalOptions): Renewal {
  const { records, locks, log, wait } = options;
  const storing = new Set<Promise<unknown>>();

  const readAgain = async ({ id }: Ticket): Promise<Ticket> => {
    const found = await records.peek(id);
    if (found === null) throw new SessionEndedError();
    return found.ticket;
  };

  /** The grant that another request or process has renewed since, where it has. */
  const newerThan = (before: Ticket, found: Ticket): Grant | null => {
    const { grant } = found.record;
    return grant.accessToken !== before.record.grant.accessToken && grant.expiresAt > options.now()
      ? grant
      : null;
  };

  const storeOnce = async (before: Ticket, record: SessionRecord): Promise<Grant> => {
    for (let current = before; ;) {
      if ((await records.replace(current, record)) !== null) return record.grant;
      const again = await readAgain(current); // ended meanwhile: the tokens that came late are dropped
      const changed = again.record.grant.accessToken !== before.record.grant.accessToken;
      if (changed) return again.record.grant;
      current = again; // only sealed again, under another session key
    }
  };

  const storeLater = async (before: Ticket, record: SessionRecord) => {
    const giveUpAt = performance.now() + STORE_WITHIN_MS;
    for (;;) {
      await wait(STORE_AGAIN_MS);
      try {
        await storeOnce(before, record);
        return;
      } catch (error) {
        if (error instanceof SessionEndedError) return;
        if (performance.now() < giveUpAt) continue;
        log.error({ err: error }, 'a renewed grant could not be stored');
        return;
      }
    }
  };

  /** Ends the session, unless somebody has renewed it after all. */
  const endOrUseNewer = async (refused: Ticket): Promise<Grant> => {
    for (;;) {
      const again = await readAgain(refused);
      if (again.record.grant.accessToken !== refused.record.grant.accessToken) return again.record.grant;
      if (await records.endUnchanged(again)) {
        log.info({ reason: 'invalid_grant' }, 'session ended');
        throw new SessionEndedError();
      }
    }
  };

  /** Null where the service says that the grant is worth nothing any more. */
  const askService = async ({ record }: Ticket): Promise<SessionRecord | null> => {
    const { refreshToken } = record.grant;
    if (refreshToken === undefined) return null; // a spent access token was all there was
    const sinceMs = options.now() - (record.renewedAt ?? -Infinity);
    if (sinceMs < PACE_MS) await wait(Math.min(PACE_MS, PACE_MS - sinceMs));
    try {
      const grant = await options.oauth.renew(record.grant, refreshToken);
      return { ...record, grant, renewedAt: options.now() };
    } catch (error) {
      if (error instanceof GrantRefusedError && error.error === 'invalid_grant') return null;
      log.warn({ err: error }, 'renewal failed; the session is kept');
      throw error instanceof TokenEndpointError ? error : new TokenEndpointError(error);
    }
  };

  const underLock = async (lock: HeldLock, ticket: Ticket): Promise<Grant> => {
    let letGo = lock.release;
    try {
      const current = await readAgain(ticket);
      const newer = newerThan(ticket, current);
      if (newer !== null) return newer;
      const renewed = await askService(current);
      if (renewed === null) return await endOrUseNewer(current);
      // From here on the new grant must not be lost: the old refresh token may be worth nothing any more.
      letGo = async () => track(storeLater(current, renewed).then(lock.release));
      const stored = await storeOnce(current, renewed);
      letGo = lock.release;
      return stored;
    } catch (error) {
      if (error instanceof TokenEndpointError) letGo = lock.coolDown;
      else if (!(error instanceof StoreUnavailableError)) letGo = lock.release;
      throw error;
    } finally {
      // A lock that can't be given back runs out by itself.
      await letGo().catch((error: unknown) => log.warn({ err: error }, 'renewal lock not released'));
    }
  };

  /** The caller has its answer; what goes on beside it ends before the process does. */
  const track = (task: Promise<void>): void => {
    const tracked = task
      .catch((error: unknown) => log.warn({ err: error }, 'renewal lock not released'))
      .finally(() => storing.delete(tracked));
    storing.add(tracked);
  };

  const renew = async (ticket: Ticket): Promise<Grant> => {
    const giveUpAt = performance.now() + options.tokenTimeoutSeconds * 1_000 + WAIT_BEYOND_TOKEN_TIMEOUT_MS;
    for (;;) {
      const lock = await locks.acquire(ticket.id);
      if (typeof lock === 'object') return underLock(lock, ticket);
      const newer = newerThan(ticket, await readAgain(ticket));
      if (newer !== null) return newer;
      if (lock === 'cooling') throw new TokenEndpointError(new Error('a renewal has just failed'));
      if (performance.now() > giveUpAt)
        throw new TokenEndpointError(new Error('another renewal does not finish'));
      await wait(LOOK_AGAIN_MS * (0.5 + Math.random()));
    }
  };

  return Object.assign(renew, {
    settled: async () => {
      await Promise.allSettled(storing);
    },
  });
}
