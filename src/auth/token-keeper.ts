import type { Logger } from '../platform/log.ts';
import type { Grant, SessionRecord, Ticket } from '../session/record.ts';
import type { SessionRecords } from '../session/session-records.ts';
import { TokenEndpointError } from './oauth-client.ts';
import type { OAuthClient } from './oauth-client.ts';
import type { RenewalAttempts } from './renewal-attempts.ts';
import type { RenewalLocks } from './renewal-lock.ts';
import { PACE_MS, createRenewalStep } from './renewal-step.ts';
import { createRenewals, isNewer } from './renewal.ts';
import type { Unwanted } from './renewal.ts';
import { createRenewedGrants } from './renewed-grants.ts';

/** Gives out the access tokens of sessions and renews them: once per expiry, over any number of processes. */
export interface TokenKeeper extends AsyncDisposable {
  /** The ticket's access token where it still lives, and nothing need be waited for; null otherwise. */
  livingToken(ticket: Ticket): string | null;
  /**
   * A living access token of the session. `refused` is a token that the service has just answered 401 to: it is
   * never given back; the grant is renewed instead, once for all who were refused the same one.
   * Rejects with SessionEndedError, TokenEndpointError or StoreUnavailableError.
   */
  accessToken(ticket: Ticket, refused?: string): Promise<string>;
}

export interface TokenKeeperOptions {
  readonly records: SessionRecords;
  readonly oauth: OAuthClient;
  readonly locks: RenewalLocks;
  readonly attempts: RenewalAttempts;
  /** A session stands in Redis for this long without use. */
  readonly idleSeconds: number;
  /** A token that lives no longer than this is renewed in the background. */
  readonly refreshAheadSeconds: number;
  /** Longest call of the token endpoint. */
  readonly tokenTimeoutSeconds: number;
  readonly log: Logger;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export function createTokenKeeper(options: TokenKeeperOptions): TokenKeeper {
  const { now, log } = options;
  const renewed = createRenewedGrants(options.records, options.idleSeconds, log);
  const step = createRenewalStep({ ...options, renewed });
  const renewals = createRenewals({ ...options, renewed, step });
  /** One renewal per session and process. It belongs to nobody's connection: who goes away aborts nothing. */
  const underWay = new Map<string, Promise<Grant>>();
  let isClosing = false;

  const join = async (sessionId: string, unwanted: Unwanted): Promise<Grant> => {
    const known = underWay.get(sessionId);
    if (known !== undefined) return known;
    if (isClosing) throw new TokenEndpointError(new Error('this process is ending'));
    const renewal = renewals.renew(sessionId, unwanted);
    underWay.set(sessionId, renewal);
    const forget = () => underWay.delete(sessionId);
    renewal.then(forget, (error: unknown) => {
      // A failure stands for those who would follow it.
      if (error instanceof TokenEndpointError) setTimeout(forget, error.againInMs).unref();
      else forget();
    });
    return renewal;
  };

  const renewedToken = async (sessionId: string, unwanted: Unwanted): Promise<string> => {
    const known = await underWay.get(sessionId);
    // One that began before our token was issued may have brought just that token: only a new one can tell.
    if (known !== undefined && isNewer(known, unwanted)) return known.accessToken;
    return (await join(sessionId, unwanted)).accessToken;
  };

  const isSoonSpent = ({ grant, renewedAt = -Infinity }: SessionRecord) => {
    const ahead = Math.min(options.refreshAheadSeconds * 1_000, grant.lifetimeMs / 3);
    return grant.expiresAt - now() <= ahead && now() - renewedAt >= PACE_MS;
  };

  const livingToken = ({ id, record }: Ticket): string | null => {
    const { grant } = record;
    if (grant.expiresAt <= now()) return null;
    if (isSoonSpent(record) && grant.refreshToken !== undefined) {
      // The one that led has logged its failure; the next request tries again.
      join(id, grant).catch((error: unknown) => log.debug({ err: error }, 'not renewed ahead'));
    }
    return grant.accessToken;
  };

  return {
    livingToken,
    async accessToken(ticket, refused) {
      const { grant } = ticket.record;
      const living = grant.accessToken === refused ? null : livingToken(ticket);
      if (living !== null) return living;
      // Of a refused token that is not the ticket's any more only its name is known.
      const isTickets = refused === undefined || refused === grant.accessToken;
      return renewedToken(ticket.id, isTickets ? grant : { accessToken: refused, expiresAt: Infinity });
    },
    async [Symbol.asyncDispose]() {
      isClosing = true; // what is begun from now on would have no Redis to be stored in
      await Promise.allSettled(underWay.values());
      await renewed.settle();
      await renewals.settled();
    },
  };
}
