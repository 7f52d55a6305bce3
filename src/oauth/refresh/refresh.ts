import { setTimeout as delay } from 'node:timers/promises';
import { SessionEndedError } from '../../errors.ts';
import type { RequestContext } from '../../http/request-context.ts';
import { createLimiter } from '../../promises.ts';
import { sessionLogFields, type SessionEvents } from '../../session/events.ts';
import { isNewer, isSameGrant, type Grant, type Session, type StaleToken } from '../../session/record.ts';
import { NotSentError, OAuthError, TokenEndpointError, type OAuthClient } from '../client.ts';
import type { OAuthMetrics } from '../metrics.ts';
import { attemptFields, type JournalEntry, type OwnEntry, type RefreshJournal } from './journal.ts';
import type { HeldLock, RefreshLocks } from './lock.ts';
import { PendingWrites, type PendingWritesOptions } from './pending-writes.ts';

/** An unexpired grant, and whether this refresh sent the token request for it. */
export interface RefreshResult {
  readonly grant: Grant;
  readonly isRequested: boolean;
}

/** The process is shutting down. Another process may send a token request at once. */
export class ShuttingDownError extends TokenEndpointError {
  constructor() {
    super(new Error('this process is shutting down'));
  }
}

export interface RefreshOptions extends PendingWritesOptions {
  readonly oauth: OAuthClient;
  readonly locks: RefreshLocks;
  readonly journal: RefreshJournal;
  /** TOKEN_TIMEOUT_SECONDS */
  readonly tokenTimeoutSeconds: number;
  readonly sessionEvents: SessionEvents;
  readonly metrics: OAuthMetrics | null;
  readonly now: () => number;
}

/** A refresh that holds the lock of its session. */
interface LockedRefresh {
  readonly lock: HeldLock;
  readonly context: RequestContext | undefined;
  /** The entry of an earlier refresh that has no outcome. */
  earlier: JournalEntry | null;
  /** The entry of this refresh; null until there is one. */
  entry: OwnEntry | null;
}

/** A session is refreshed at most once within this time. */
export const MIN_INTERVAL_MS = 1_000;
/** Beyond TOKEN_TIMEOUT_SECONDS, a refresh waits this long, for example for a process that holds the lock and crashes. */
export const WAIT_BEYOND_TOKEN_TIMEOUT_MS = 12_000;

/** Most refreshes at a time in one process. After an outage all sessions are refreshed at once. */
const MAX_REFRESHES = 32;
/** The wait for another process's result grows from the first to the second value. */
const FIRST_POLL_MS = 40;
const LONGEST_POLL_MS = 250;
/** The time that another process gets for storing its tokens, beyond TOKEN_TIMEOUT_SECONDS. */
const STORE_TIMEOUT_MS = 10_000;

/**
 * Refreshes sessions, once for each expiry over all processes. In this order: lock → read again → journal → token endpoint →
 * compare-and-set. Nothing that was read before the lock is used under it. A process that does not get the lock watches the
 * record for the result of the one that did (docs/decisions/0004 and 0014).
 */
export class TokenRefresh {
  readonly #options: RefreshOptions;
  readonly #pendingWrites: PendingWrites;
  readonly #acquirePlace = createLimiter(MAX_REFRESHES);
  readonly #cleanUps = new Set<Promise<void>>();
  #deadline = Infinity;

  constructor(options: RefreshOptions) {
    this.#options = options;
    this.#pendingWrites = new PendingWrites(options);
  }

  /**
   * Resolves with an unexpired grant that is newer than the stale token. `context` is that of the request that starts the
   * refresh. Rejects with SessionEndedError, TokenEndpointError or StoreUnavailableError.
   */
  async refresh(id: string, stale: StaleToken, context?: RequestContext): Promise<RefreshResult> {
    const { metrics, tokenTimeoutSeconds } = this.#options;
    const startedAt = performance.now();
    const giveUpAt = startedAt + tokenTimeoutSeconds * 1_000 + WAIT_BEYOND_TOKEN_TIMEOUT_MS;
    let pollMs = FIRST_POLL_MS;
    let waitedMs = 0;
    try {
      for (;;) {
        const result = await this.#refreshOrWait(id, stale, context);
        if (result !== null) return result;
        if (performance.now() > giveUpAt) throw this.#unfinished();
        await delay(pollMs * (0.5 + Math.random()));
        pollMs = Math.min(1.5 * pollMs, LONGEST_POLL_MS);
        waitedMs = performance.now() - startedAt; // without the time of an own refresh that follows
      }
    } finally {
      if (waitedMs > 0) metrics?.refreshWaited(waitedMs);
    }
  }

  /**
   * Sends no token request that could outlast `deadline` (by performance.now()), when the process may exit. Where refresh
   * tokens rotate, a response that no process stores ends the session.
   */
  setDeadline(deadline: number): void {
    this.#deadline = deadline;
  }

  /** Resolves when no new grant waits to be stored, and locks and journal entries are cleaned up. */
  async settle(): Promise<void> {
    await this.#pendingWrites.settle();
    await Promise.allSettled(this.#cleanUps);
  }

  /** Null where another process holds the lock, or ours was lost. Then the caller tries again. */
  async #refreshOrWait(
    id: string,
    stale: StaleToken,
    context?: RequestContext,
  ): Promise<RefreshResult | null> {
    const pending = await this.#pendingWrites.retry(id);
    if (pending !== null && this.#isUsable(pending, stale)) return { grant: pending, isRequested: false };
    const reply = await this.#options.locks.acquire(id);
    if (reply.state === 'held')
      return this.#underLock(id, stale, { lock: reply.lock, context, earlier: null, entry: null });
    const { grant } = (await this.#read(id, context)).record;
    if (this.#isUsable(grant, stale)) return { grant, isRequested: false };
    if (reply.state === 'taken') return null;
    throw new TokenEndpointError(new Error('a refresh has just failed'), reply.ms);
  }

  async #underLock(id: string, stale: StaleToken, locked: LockedRefresh): Promise<RefreshResult | null> {
    try {
      const session = await this.#read(id, locked.context);
      const { grant } = session.record;
      const fresh = this.#isUsable(grant, stale) ? grant : await this.#refreshLocked(session, locked);
      this.#finish(locked);
      return fresh && { grant: fresh, isRequested: locked.entry !== null };
    } catch (error) {
      const stored = this.#pendingWrites.outcome(id);
      // The session has ended, or this process ends: close the journal entry and release the lock. The token endpoint failed:
      // keep the lock for a second. Redis failed before a token request: leave the entry open and release the lock.
      if (error instanceof SessionEndedError || error instanceof ShuttingDownError) this.#finish(locked);
      else if (error instanceof TokenEndpointError) this.#cleanUp(locked.lock.coolDown);
      else if (stored === null) this.#abandon(locked);
      // Until Redis has the new grant, no process may use its old refresh token. So the lock stays.
      else void stored.then((isStored) => (isStored ? this.#finish(locked) : this.#abandon(locked)));
      throw error;
    }
  }

  /** Null where the lock was lost before a token request was sent. */
  async #refreshLocked(session: Session, locked: LockedRefresh): Promise<Grant | null> {
    const { journal, metrics, now, tokenTimeoutSeconds } = this.#options;
    const { refreshToken, expiresAt } = session.record.grant;
    if (refreshToken === undefined) {
      // A 401 for an unexpired token may be temporary. End the session only once the token has expired.
      if (expiresAt <= now()) return this.#endOrUseNewer(session, 'no_refresh_token', locked);
      metrics?.refreshFailed('no_refresh_token');
      throw new TokenEndpointError(new Error('there is no refresh token'));
    }
    locked.earlier = await journal.find(session);
    const stored = await this.#storedByOther(session, locked);
    if (stored !== null) return stored;
    const sinceMs = now() - (session.record.refreshedAt ?? -Infinity);
    if (sinceMs < MIN_INTERVAL_MS) await delay(Math.min(MIN_INTERVAL_MS, MIN_INTERVAL_MS - sinceMs));
    // Beyond a number of refreshes at once, this one waits for its turn.
    const release = await this.#acquirePlace(tokenTimeoutSeconds * 1_000);
    if (release === null) {
      metrics?.refreshFailed('token_endpoint');
      throw new TokenEndpointError(new Error('too many refreshes at once'));
    }
    try {
      return await this.#sendAndStore(session, refreshToken, locked);
    } finally {
      release();
    }
  }

  /** Makes the journal entry, sends the token request and stores the new grant. Null where the lock was lost before. */
  async #sendAndStore(session: Session, refreshToken: string, locked: LockedRefresh): Promise<Grant | null> {
    const { journal, sessionEvents, log, now, oauth } = this.#options;
    const { lock, context } = locked;
    const newer = await this.#readNewer(session, context);
    if (newer !== null) return newer;
    if (!this.#maySend()) throw new ShuttingDownError();
    const entry = (locked.entry = await journal.open(session, lock));
    if (entry === null) return null;
    const maySend = () => lock.isFresh() && this.#maySend();
    let grant: Grant;
    try {
      // A process that is stopped from here on may lose its lock, and another may use the refresh token. `maySend` checks that.
      grant = await oauth.refresh(session.record.grant, refreshToken, context?.trace, maySend);
    } catch (error) {
      if (error instanceof NotSentError) return null;
      return this.#handleFailure(session, error, locked);
    }
    const stored = await this.#pendingWrites.write(session, { ...session.record, grant, refreshedAt: now() });
    sessionEvents.refreshed(session.id, context);
    if (locked.earlier !== null) log.info(toLogFields(session, locked), 'token refreshed by a later attempt');
    return stored;
  }

  /** Ends the session on `invalid_grant`. Any other failure keeps it. */
  async #handleFailure(session: Session, error: unknown, locked: LockedRefresh): Promise<Grant> {
    const { log, metrics } = this.#options;
    if (error instanceof OAuthError && error.error === 'invalid_grant')
      return this.#endOrUseNewer(session, 'invalid_grant', locked);
    const isRefused = error instanceof OAuthError && !error.isOutage;
    metrics?.refreshFailed(isRefused ? 'refused' : 'token_endpoint');
    log.warn({ err: error, ...toLogFields(session, locked) }, 'token refresh failed');
    locked.entry?.fail(locked.earlier).catch(() => {}); // then the entry stays open, and counts as interrupted
    throw error instanceof TokenEndpointError ? error : new TokenEndpointError(error);
  }

  /** Ends the session, unless another process has refreshed it after all. */
  async #endOrUseNewer(
    refused: Session,
    reason: 'invalid_grant' | 'no_refresh_token',
    { context, earlier }: LockedRefresh,
  ): Promise<Grant> {
    const { sessionEvents, metrics, store } = this.#options;
    for (;;) {
      const session = await this.#read(refused.id, context);
      if (!isSameGrant(session.record.grant, refused.record.grant)) return session.record.grant;
      if (await store.endUnchanged(session)) {
        metrics?.refreshFailed(reason);
        sessionEvents.ended(session.id, reason, context, attemptFields(earlier));
        throw new SessionEndedError(
          'The service no longer takes the access that you gave. Sign in again to go on.',
        );
      }
    }
  }

  /**
   * Waits while the process of an open journal entry runs, and resolves with the grant that it stores. Its lock may have been
   * lost with Redis. Using the same refresh token meanwhile could end the session where refresh tokens rotate. Null where no
   * such process runs.
   */
  async #storedByOther(session: Session, { earlier, context }: LockedRefresh): Promise<Grant | null> {
    if (earlier?.state !== 'open') return null;
    const giveUpAt = performance.now() + this.#options.tokenTimeoutSeconds * 1_000 + STORE_TIMEOUT_MS;
    for await (const entry of this.#options.journal.watch(session, earlier)) {
      const newer = await this.#readNewer(session, context);
      if (newer !== null) return newer;
      if (entry !== null && entry.state !== 'open')
        throw new TokenEndpointError(new Error('a refresh has just failed'));
      if (performance.now() > giveUpAt) throw this.#unfinished();
    }
    return null;
  }

  async #read(id: string, context?: RequestContext): Promise<Session> {
    const found = await this.#options.store.peek(id, context);
    if (found === null) throw new SessionEndedError();
    return found.session;
  }

  /** The grant that stands now, where it was refreshed; otherwise null. */
  async #readNewer({ id, record }: Session, context?: RequestContext): Promise<Grant | null> {
    const { grant } = (await this.#read(id, context)).record;
    return isSameGrant(grant, record.grant) ? null : grant;
  }

  #isUsable(grant: Grant, stale: StaleToken): boolean {
    return isNewer(grant, stale) && grant.expiresAt > this.#options.now();
  }

  /** Not in the last seconds of a shutdown, which could cut the token request off. */
  #maySend(): boolean {
    return performance.now() + this.#options.tokenTimeoutSeconds * 1_000 <= this.#deadline;
  }

  #unfinished(): TokenEndpointError {
    this.#options.metrics?.refreshFailed('lock');
    return new TokenEndpointError(new Error('another refresh does not finish'));
  }

  /** Deletes first the journal entry, then the lock, so that the next refresh finds no entry. */
  #finish({ lock, entry }: LockedRefresh): void {
    this.#cleanUp(...(entry === null ? [] : [entry.close]), lock.release);
  }

  /** Leaves the journal entry open for the next refresh. */
  #abandon({ lock, entry }: LockedRefresh): void {
    entry?.stopHeartbeat();
    this.#cleanUp(lock.release);
  }

  /** Runs in the background. Where a step fails, its key expires by itself. */
  #cleanUp(...steps: (() => Promise<unknown>)[]): void {
    const run = async () => {
      for (const step of steps)
        await step().catch((error: unknown) =>
          this.#options.log.warn({ err: error }, 'refresh cleanup failed; keys expire by themselves'),
        );
    };
    const done = run().finally(() => this.#cleanUps.delete(done));
    this.#cleanUps.add(done);
  }
}

function toLogFields({ id }: Session, { context, earlier }: LockedRefresh) {
  return { ...sessionLogFields(id, context), ...attemptFields(earlier) };
}
