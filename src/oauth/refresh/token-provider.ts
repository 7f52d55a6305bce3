import type { RequestContext, TokenUse } from '../../http/request-context.ts';
import { StoreUnavailableError } from '../../redis/client.ts';
import { isNewer, type Grant, type Session, type SessionRecord } from '../../session/record.ts';
import { TokenEndpointError } from '../client.ts';
import type { RefreshTrigger } from '../metrics.ts';
import {
  MIN_INTERVAL_MS,
  ShuttingDownError,
  createTokenRefresh,
  type RefreshOptions,
  type RefreshResult,
  type RefreshTask,
} from './refresh.ts';

interface TokenProviderOptions extends RefreshOptions {
  /** Tokens that expire within this time are refreshed in the background. */
  readonly refreshAheadSeconds: number;
}

export type TokenProvider = ReturnType<typeof createTokenProvider>;

/** If the service responds with 401 to every token, each session causes at most one token request in this time. */
const MIN_AGE_OF_REFUSED_MS = 30_000;

/** Records in the request context how the request used the token, for the access log. */
function recordTokenUse(context: RequestContext | undefined, use: TokenUse): void {
  if (context !== undefined) context.token = use;
}

/**
 * Provides access tokens for sessions, and refreshes each token once, across all processes. A refresh is independent of the requests
 * waiting for it, so a client that disconnects doesn't abort the refresh. Disposing waits for refreshes in progress.
 */
export function createTokenProvider(options: TokenProviderOptions) {
  const { log, metrics, now, store } = options;
  const tokenRefresh = createTokenRefresh(options);
  /** The refreshes in this process, keyed by session id: at most one per session. */
  const inProgress = new Map<string, Promise<RefreshResult>>();
  let isClosing = false;

  const joinOrStart = async (task: RefreshTask): Promise<RefreshResult> => {
    const known = inProgress.get(task.id);
    if (known !== undefined) return { ...(await known), sentRequest: false };
    if (isClosing) throw new ShuttingDownError();
    const refresh = tokenRefresh.refresh(task);
    inProgress.set(task.id, refresh);
    const forget = () => inProgress.delete(task.id);
    refresh.then(forget, (error: unknown) => {
      if (error instanceof StoreUnavailableError) metrics?.refreshFailed('redis');
      // Requests that arrive just after a failure fail with the same error.
      if (error instanceof TokenEndpointError) setTimeout(forget, error.retryInMs).unref();
      else forget();
    });
    return refresh;
  };

  /** Joins a refresh in progress if its token turns out to be newer than the stale token. Otherwise, starts a new refresh. */
  const joinNewerOrStart = async (task: RefreshTask): Promise<RefreshResult> => {
    const known = await inProgress.get(task.id);
    if (known !== undefined && isNewer(known.grant, task.stale)) return { ...known, sentRequest: false };
    return joinOrStart(task);
  };

  const countOutcome = async (trigger: RefreshTrigger, refresh: Promise<RefreshResult>): Promise<Grant> => {
    try {
      const { grant, sentRequest } = await refresh;
      metrics?.refresh(trigger, sentRequest ? 'refreshed' : 'joined');
      return grant;
    } catch (error) {
      metrics?.refresh(trigger, 'failed');
      throw error;
    }
  };

  const isExpiring = ({ grant, refreshedAt = -Infinity }: SessionRecord) => {
    const aheadMs = Math.min(options.refreshAheadSeconds * 1_000, grant.lifetimeMs / 3);
    return grant.expiresAt - now() <= aheadMs && now() - refreshedAt >= MIN_INTERVAL_MS;
  };

  /** Returns whether a token is too new to refresh. The clock of the process that refreshed the token may be ahead. */
  const isYoung = ({ grant, createdAt, refreshedAt = createdAt }: SessionRecord) =>
    Math.abs(now() - refreshedAt) < MIN_AGE_OF_REFUSED_MS && grant.expiresAt > now();

  /** Returns the access token without waiting, or null if it has expired. Refreshes an expiring token in the background. */
  const unexpiredToken = ({ id, record }: Session, context?: RequestContext): string | null => {
    const { grant } = record;
    if (grant.expiresAt <= now()) return null;
    const isRefreshDue = isExpiring(record) && grant.refreshToken !== undefined;
    if (isRefreshDue && !inProgress.has(id)) {
      // The failure has already been logged, and the next request tries again.
      countOutcome('expiring', joinOrStart({ id, stale: grant, context })).catch((error: unknown) =>
        log.debug({ err: error }, 'background token refresh failed'),
      );
    }
    if (isRefreshDue) recordTokenUse(context, 'refreshed_ahead');
    // Cloakroom may send several upstream requests for a page. Keep the first recorded use.
    else if (context?.token === undefined) recordTokenUse(context, 'unexpired');
    return grant.accessToken;
  };

  return {
    setDeadline: tokenRefresh.setDeadline,

    unexpiredToken,

    /** Returns the access token for an early request, or null if it has expired. Starts no refresh, because the session may have ended. */
    earlyToken({ record }: Session): string | null {
      return record.grant.expiresAt <= now() ? null : record.grant.accessToken;
    },

    /** Resolves with an unexpired access token. Rejects with SessionEndedError, TokenEndpointError or StoreUnavailableError. */
    async accessToken(session: Session, context?: RequestContext): Promise<string> {
      const { id, record } = session;
      const unexpired = unexpiredToken(session, context);
      if (unexpired !== null) return unexpired;
      const { accessToken } = await countOutcome(
        'expired',
        joinNewerOrStart({ id, stale: record.grant, context }),
      );
      recordTokenUse(context, 'refreshed');
      return accessToken;
    },

    /**
     * Resolves with a new token after the service has refused a token with a 401. The grant is refreshed once for all requests
     * with the same token. Resolves with null if the refused token is less than 30 s old, because the service would refuse a
     * new token as well. Rejects like `accessToken`.
     */
    async tokenAfterUnauthorized(session: Session, refused: string, context?: RequestContext) {
      recordTokenUse(context, 'refused');
      const { id } = session;
      const isOfSession = refused === session.record.grant.accessToken;
      const record = isOfSession ? session.record : (await store.peek(id, context))?.session.record;
      if (record?.grant.accessToken === refused && isYoung(record)) return null;
      // If the session now has a different token, the expiry of the refused token is unknown.
      const stale = isOfSession ? session.record.grant : { accessToken: refused, expiresAt: Infinity };
      const { accessToken } = await countOutcome('unauthorized', joinNewerOrStart({ id, stale, context }));
      return accessToken;
    },

    async [Symbol.asyncDispose](): Promise<void> {
      isClosing = true; // a refresh started now couldn't store its tokens
      await Promise.allSettled(inProgress.values());
      await tokenRefresh.settle();
    },
  };
}
