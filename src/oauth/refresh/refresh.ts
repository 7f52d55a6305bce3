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
import { createPendingWrites, type PendingWritesOptions } from './pending-writes.ts';

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

/** A session, and the token that a request can no longer use. */
export interface RefreshTask {
  readonly id: string;
  readonly stale: StaleToken;
  /** Context of the request that starts the refresh, for logging. */
  readonly context: RequestContext | undefined;
}

interface LockedTask extends RefreshTask {
  readonly lock: HeldLock;
  /** The journal entry of an earlier refresh that never completed. */
  earlier: JournalEntry | null;
  /** This refresh's journal entry; null until it is created. */
  entry: OwnEntry | null;
}

/** An unexpired grant, and whether this refresh sent a token request. */
export interface RefreshResult {
  readonly grant: Grant;
  readonly sentRequest: boolean;
}

/** Thrown when this process is shutting down. Another process need not wait before it sends a token request. */
export class ShuttingDownError extends TokenEndpointError {
  constructor() {
    super(new Error('this process is shutting down'));
  }
}

/** Minimum time between two refreshes of a session, in ms. */
export const MIN_INTERVAL_MS = 1_000;
/** Maximum wait beyond TOKEN_TIMEOUT_SECONDS, in ms, for example for the lock of a process that has crashed. */
const WAIT_BEYOND_TOKEN_TIMEOUT_MS = 12_000;

/** Maximum number of concurrent refreshes in one process. After an outage, all sessions may need a refresh at the same time. */
const MAX_REFRESHES = 32;
/** Initial and maximum interval between checks for the result of another process, in ms. */
const FIRST_POLL_MS = 40;
const MAX_POLL_MS = 250;
/** Extra time beyond TOKEN_TIMEOUT_SECONDS for another process to store its tokens, in ms. */
const STORE_TIMEOUT_MS = 10_000;

/**
 * Refreshes sessions, once per expiry across all processes. The steps are: lock → read again → journal → token endpoint → compare-and-set.
 * Data read before the lock was acquired is never used while the lock is held. A process that doesn't get the lock polls the record for the
 * other process's result (docs/decisions/0003).
 */
export function createTokenRefresh(options: RefreshOptions) {
  const { oauth, locks, journal, store, sessionEvents, metrics, log, now } = options;
  const tokenTimeoutMs = options.tokenTimeoutSeconds * 1_000;
  const pendingWrites = createPendingWrites(options);
  const acquireSlot = createLimiter(MAX_REFRESHES);
  const cleanUps = new Set<Promise<void>>();
  let deadline = Infinity;

  /**
   * Resolves with an unexpired grant newer than the stale token. Rejects with SessionEndedError, TokenEndpointError or
   * StoreUnavailableError.
   */
  const refresh = async (task: RefreshTask): Promise<RefreshResult> => {
    const startedAt = performance.now();
    const giveUpAt = startedAt + tokenTimeoutMs + WAIT_BEYOND_TOKEN_TIMEOUT_MS;
    let pollMs = FIRST_POLL_MS;
    let waitedMs = 0;
    try {
      for (;;) {
        const result = await tryRefresh(task);
        if (result !== null) return result;
        if (performance.now() > giveUpAt) throw unfinished();
        await delay(pollMs * (0.5 + Math.random()));
        pollMs = Math.min(1.5 * pollMs, MAX_POLL_MS);
        waitedMs = performance.now() - startedAt; // excludes the refresh itself, if this process gets the lock
      }
    } finally {
      if (waitedMs > 0) metrics?.refreshWaited(waitedMs);
    }
  };

  /** Tries to refresh once. Resolves with null if another process holds the lock, or if this process has lost it. */
  const tryRefresh = async (task: RefreshTask): Promise<RefreshResult | null> => {
    const pending = await pendingWrites.retry(task.id);
    if (pending !== null && isUsable(pending, task)) return { grant: pending, sentRequest: false };
    const reply = await locks.acquire(task.id);
    if (reply.state === 'held')
      return refreshUnderLock({ ...task, lock: reply.lock, earlier: null, entry: null });
    const { grant } = (await read(task)).record;
    if (isUsable(grant, task)) return { grant, sentRequest: false };
    if (reply.state === 'taken') return null;
    throw new TokenEndpointError(new Error('failed recently'), reply.ms);
  };

  const refreshUnderLock = async (task: LockedTask): Promise<RefreshResult | null> => {
    try {
      const session = await read(task);
      const stored = session.record.grant;
      const grant = isUsable(stored, task) ? stored : await refreshSession(session, task);
      finish(task);
      return grant && { grant, sentRequest: task.entry !== null };
    } catch (error) {
      finishFailed(task, error);
      throw error;
    }
  };

  /** Requests a new grant and stores it. Resolves with null if the lock was lost before the token request was sent. */
  const refreshSession = async (session: Session, task: LockedTask): Promise<Grant | null> => {
    const { grant: before, refreshedAt = -Infinity } = session.record;
    if (before.refreshToken === undefined) {
      // A 401 for an unexpired token may be temporary. End the session only once the token has expired.
      if (before.expiresAt <= now()) return endOrUseNewer(session, 'no_refresh_token', task);
      metrics?.refreshFailed('no_refresh_token');
      throw new TokenEndpointError(new Error('there is no refresh token'));
    }

    task.earlier = await journal.find(session);
    await waitForEarlier(session, task);
    const sinceMs = now() - refreshedAt;
    if (sinceMs < MIN_INTERVAL_MS) await delay(Math.min(MIN_INTERVAL_MS, MIN_INTERVAL_MS - sinceMs));
    using slot = await acquireSlot(tokenTimeoutMs);
    if (slot === null) {
      metrics?.refreshFailed('token_endpoint');
      throw new TokenEndpointError(new Error('too many concurrent refreshes'));
    }

    const newer = await readNewer(session, task);
    if (newer !== null) return newer;
    if (!isInTime()) throw new ShuttingDownError();
    task.entry = await journal.open(session, task.lock);
    if (task.entry === null) return null;
    // If this process is paused from here on, it may lose the lock, and another process may use the refresh token. `maySend` detects the
    // loss.
    const maySend = () => task.lock.isFresh() && isInTime();
    let grant: Grant;
    try {
      grant = await oauth.refresh(before, before.refreshToken, task.context?.trace, maySend);
    } catch (error) {
      if (error instanceof NotSentError) return null;
      return await handleFailure(session, error, task);
    }
    const stored = await pendingWrites.write(session, { ...session.record, grant, refreshedAt: now() });
    sessionEvents.refreshed(task.id, task.context);
    if (task.earlier !== null) log.info(toLogFields(task), 'token refreshed by a later attempt');
    return stored;
  };

  /**
   * If the owner of an open journal entry is still running, waits until it has stored a new grant. The owner may have lost its
   * lock in a Redis outage. If refresh tokens rotate, sending the same token again too early could end the session.
   */
  const waitForEarlier = async (session: Session, task: LockedTask): Promise<void> => {
    if (task.earlier?.state !== 'open') return;
    const giveUpAt = performance.now() + tokenTimeoutMs + STORE_TIMEOUT_MS;
    for await (const entry of journal.watch(session, task.earlier)) {
      if ((await readNewer(session, task)) !== null) return;
      if (entry !== null && entry.state !== 'open')
        throw new TokenEndpointError(new Error('failed recently'));
      if (performance.now() > giveUpAt) throw unfinished();
    }
  };

  /** Ends the session on `invalid_grant`, and leaves the session unchanged after any other failure. */
  const handleFailure = async (session: Session, error: unknown, task: LockedTask): Promise<Grant> => {
    if (error instanceof OAuthError && error.error === 'invalid_grant')
      return endOrUseNewer(session, 'invalid_grant', task);
    const isRefused = error instanceof OAuthError && !error.isOutage;
    metrics?.refreshFailed(isRefused ? 'refused' : 'token_endpoint');
    log.warn({ err: error, ...toLogFields(task) }, 'token refresh failed');
    task.entry?.fail(task.earlier).catch(() => {}); // on failure, the entry stays open and is treated as interrupted
    throw error instanceof TokenEndpointError ? error : new TokenEndpointError(error);
  };

  /** Ends the session, unless another process has refreshed it. */
  const endOrUseNewer = async (
    refused: Session,
    reason: 'invalid_grant' | 'no_refresh_token',
    task: LockedTask,
  ): Promise<Grant> => {
    for (;;) {
      const session = await read(task);
      if (!isSameGrant(session.record.grant, refused.record.grant)) return session.record.grant;
      if (!(await store.endUnchanged(session))) continue;
      metrics?.refreshFailed(reason);
      sessionEvents.ended(task.id, reason, task.context, attemptFields(task.earlier));
      throw new SessionEndedError(
        'Cloakroom no longer has access to your account at the service. Sign in again to continue.',
      );
    }
  };

  /** Deletes the journal entry before the lock, so that the next refresh finds no entry. */
  const finish = ({ lock, entry }: LockedTask) =>
    cleanUp(...(entry === null ? [] : [entry.close]), lock.release);

  /** Leaves the journal entry open for the next refresh. */
  const abandon = ({ lock, entry }: LockedTask) => {
    entry?.stopHeartbeat();
    cleanUp(lock.release);
  };

  const finishFailed = (task: LockedTask, error: unknown) => {
    const outcome = pendingWrites.outcome(task.id);
    // The session has ended, or this process is shutting down. Let other processes continue immediately.
    if (error instanceof SessionEndedError || error instanceof ShuttingDownError) finish(task);
    // Don't let waiting requests rush to a token endpoint that has just failed.
    else if (error instanceof TokenEndpointError) cleanUp(task.lock.coolDown);
    // Redis failed before a new grant was issued.
    else if (outcome === null) abandon(task);
    // Keep the lock until the new grant is stored, so that other processes don't use the old refresh token.
    else void outcome.then((isStored) => (isStored ? finish(task) : abandon(task)));
  };

  /** Runs the clean-up steps in the background. If a step fails to delete a key, the key expires by itself. */
  const cleanUp = (...steps: (() => Promise<unknown>)[]) => {
    const run = async () => {
      for (const step of steps)
        await step().catch((error: unknown) =>
          log.warn({ err: error }, 'refresh cleanup failed; keys expire by themselves'),
        );
    };
    const done = run().finally(() => cleanUps.delete(done));
    cleanUps.add(done);
  };

  const read = async ({ id, context }: RefreshTask): Promise<Session> => {
    const found = await store.peek(id, context);
    if (found === null) throw new SessionEndedError();
    return found.session;
  };

  /** Resolves with the current grant if it has been refreshed since the session was read, otherwise with null. */
  const readNewer = async ({ record }: Session, task: RefreshTask): Promise<Grant | null> => {
    const { grant } = (await read(task)).record;
    return isSameGrant(grant, record.grant) ? null : grant;
  };

  const isUsable = (grant: Grant, { stale }: RefreshTask) => isNewer(grant, stale) && grant.expiresAt > now();

  /** Returns whether a token request would end before the process exits. */
  const isInTime = () => performance.now() + tokenTimeoutMs <= deadline;

  const unfinished = () => {
    metrics?.refreshFailed('lock');
    return new TokenEndpointError(new Error('another refresh did not finish in time'));
  };

  return {
    refresh,

    /**
     * Prevents token requests that could outlast `at`, the time from performance.now() at which the process may exit. If
     * refresh tokens rotate, a response that is never stored ends the session.
     */
    setDeadline: (at: number): void => void (deadline = at),

    /** Resolves once all new grants are stored, and locks and journal entries are cleaned up. */
    async settle(): Promise<void> {
      await pendingWrites.settle();
      await Promise.allSettled(cleanUps);
    },
  };
}

function toLogFields({ id, context, earlier }: LockedTask) {
  return { ...sessionLogFields(id, context), ...attemptFields(earlier) };
}
