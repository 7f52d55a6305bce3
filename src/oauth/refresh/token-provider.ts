import { StoreUnavailableError } from '../../errors.ts';
import type { Logger } from '../../observability/logger.ts';
import type { RequestContext } from '../../http/request-context.ts';
import type { Grant, SessionRecord, Session } from '../../session/record.ts';
import type { SessionEvents } from '../../session/events.ts';
import type { SessionStore } from '../../session/store.ts';
import { TokenEndpointError } from '../client.ts';
import type { OAuthClient } from '../client.ts';
import type { RenewalAttempts } from './journal.ts';
import type { RenewalLocks } from './lock.ts';
import type { RenewalMetrics, RenewalTrigger } from './refresh-metrics.ts';
import { PACE_MS, ProcessEndsError, createRenewalStep } from './refresh-step.ts';
import { longestAhead } from './refresh-times.ts';
import { createRenewals, isNewer } from './refresh.ts';
import type { Renewed, Unwanted } from './refresh.ts';
import { createRenewedGrants } from './pending-writes.ts';
import { noteLiving, noteToken } from '../token-use.ts';

/** Gives out the access tokens of sessions and renews them: once per expiry, over any number of processes. */
export interface TokenProvider extends AsyncDisposable {
  /**
   * Begins no token request that could outlast `deadline` (by performance.now()), at which the process may end: where
   * refresh tokens rotate, a response that no process stores ends the session.
   */
  setDeadline(deadline: number): void;
  /**
   * The ticket's access token where it still lives, and nothing need be waited for; null otherwise. What became of it is
   * noted of the request `by`, on whose behalf it is asked for, if any.
   */
  unexpiredToken(ticket: Session, by?: RequestContext): string | null;
  /**
   * A living access token of the session. Rejects with SessionEndedError, TokenEndpointError or StoreUnavailableError.
   */
  accessToken(ticket: Session, by?: RequestContext): Promise<string>;
  /**
   * A token in the place of one that the service has just responded 401 to: the grant is refreshed, once for all requests
   * with the same token. Null where the refused token is younger than 30 seconds: a new one would be refused as well.
   * Rejects like `accessToken`.
   */
  tokenAfterUnauthorized(ticket: Session, refused: string, by?: RequestContext): Promise<string | null>;
}

export interface TokenKeeperOptions {
  readonly store: SessionStore;
  readonly oauth: OAuthClient;
  readonly locks: RenewalLocks;
  readonly attempts: RenewalAttempts;
  /** A session stands in Redis for this long without use. */
  readonly idleSeconds: number;
  /** A token that lives no longer than this is renewed in the background. */
  readonly refreshAheadSeconds: number;
  /** Longest call of the token endpoint. */
  readonly tokenTimeoutSeconds: number;
  readonly life: SessionEvents;
  /** Null where nobody reads metrics. */
  readonly metrics: RenewalMetrics | null;
  readonly log: Logger;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** An endpoint that always responds 401 would otherwise cost a token request a second for each session. */
const YOUNG_MS = 30_000;

export function createTokenProvider(options: TokenKeeperOptions): TokenProvider {
  const { now, log, metrics } = options;
  const renewedGrants = createRenewedGrants(options.store, options.idleSeconds, log);
  let endsAt = Infinity;
  const mayBegin = () => performance.now() + options.tokenTimeoutSeconds * 1_000 <= endsAt;
  const step = createRenewalStep({ ...options, renewed: renewedGrants, mayBegin });
  const renewals = createRenewals({ ...options, renewed: renewedGrants, step });
  /** One renewal per session and process. It belongs to nobody's connection: who goes away aborts nothing. */
  const underWay = new Map<string, Promise<Renewed>>();
  let isClosing = false;

  const join = async (sessionId: string, unwanted: Unwanted, by?: RequestContext): Promise<Renewed> => {
    const known = underWay.get(sessionId);
    if (known !== undefined) return { ...(await known), led: false };
    if (isClosing) throw new ProcessEndsError();
    const renewal = renewals.renew(sessionId, unwanted, by);
    underWay.set(sessionId, renewal);
    const forget = () => underWay.delete(sessionId);
    renewal.then(forget, (error: unknown) => {
      if (error instanceof StoreUnavailableError) metrics?.failed('redis');
      // A failure stands for those who would follow it.
      if (error instanceof TokenEndpointError) setTimeout(forget, error.retryInMs).unref();
      else forget();
    });
    return renewal;
  };

  const renewed = async (sessionId: string, unwanted: Unwanted, by?: RequestContext): Promise<Renewed> => {
    const known = await underWay.get(sessionId);
    // One that began before our token was issued may have brought just that token: only a new one can tell.
    if (known !== undefined && isNewer(known.grant, unwanted)) return { ...known, led: false };
    return join(sessionId, unwanted, by);
  };

  /** Counts what comes of asking. */
  const counted = async (trigger: RenewalTrigger, asked: Promise<Renewed>): Promise<Grant> => {
    try {
      const { grant, led } = await asked;
      metrics?.asked(trigger, led ? 'led' : 'joined');
      return grant;
    } catch (error) {
      metrics?.asked(trigger, 'failed');
      throw error;
    }
  };

  const isSoonSpent = ({ grant, renewedAt = -Infinity }: SessionRecord) => {
    const ahead = Math.min(options.refreshAheadSeconds * 1_000, longestAhead(grant.lifetimeMs));
    return grant.expiresAt - now() <= ahead && now() - renewedAt >= PACE_MS;
  };

  /** The clock of the process that refreshed it may be ahead of ours. */
  const isYoung = ({ grant, createdAt, renewedAt = createdAt }: SessionRecord) =>
    Math.abs(now() - renewedAt) < YOUNG_MS && grant.expiresAt > now();

  const unexpiredToken = ({ id, record }: Session, by?: RequestContext): string | null => {
    const { grant } = record;
    if (grant.expiresAt <= now()) return null;
    const renewsAhead = isSoonSpent(record) && grant.refreshToken !== undefined;
    if (renewsAhead && !underWay.has(id)) {
      // The one that led has logged its failure; the next request tries again.
      counted('ahead', join(id, grant, by)).catch((error: unknown) =>
        log.debug({ err: error }, 'not renewed ahead'),
      );
    }
    if (renewsAhead) noteToken(by, 'renewed_ahead');
    else noteLiving(by);
    return grant.accessToken;
  };

  return {
    setDeadline(deadline) {
      endsAt = deadline;
    },
    unexpiredToken,
    async accessToken(ticket, by) {
      const living = unexpiredToken(ticket, by);
      if (living !== null) return living;
      noteToken(by, 'failed'); // until there is one
      const { accessToken } = await counted('spent', renewed(ticket.id, ticket.record.grant, by));
      noteToken(by, 'renewed');
      return accessToken;
    },
    async tokenAfterUnauthorized(ticket, refused, by) {
      const { id } = ticket;
      const isTickets = refused === ticket.record.grant.accessToken;
      const record = isTickets ? ticket.record : (await options.store.peek(id, by))?.ticket.record;
      if (record?.grant.accessToken === refused && isYoung(record)) {
        noteToken(by, 'refused');
        return null;
      }
      // Of a refused token that is not the ticket's only its value is known.
      const unwanted = isTickets ? ticket.record.grant : { accessToken: refused, expiresAt: Infinity };
      noteToken(by, 'failed'); // until there is one
      const { accessToken } = await counted('refused', renewed(id, unwanted, by));
      noteToken(by, 'refused');
      return accessToken;
    },
    async [Symbol.asyncDispose]() {
      isClosing = true; // what is begun from now on would have no Redis to be stored in
      await Promise.allSettled(underWay.values());
      await renewedGrants.settle();
      await renewals.settled();
    },
  };
}
