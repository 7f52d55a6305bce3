import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../platform/log.ts';
import type { Grant, Ticket } from '../session/record.ts';
import type { SessionRecords } from '../session/session-records.ts';
import type { OAuthClient } from './oauth-client.ts';
import type { RenewalLocks } from './renewal-lock.ts';
import { PACE_MS, createRenewal } from './renewal.ts';

/** Gives out the access tokens of sessions and renews them: once per expiry, over any number of processes. */
export interface TokenKeeper extends AsyncDisposable {
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
  const renew = createRenewal({ ...options, wait: async (ms) => delay(ms) });
  /** One renewal per session and process. It belongs to nobody's connection: who goes away aborts nothing. */
  const underWay = new Map<string, Promise<Grant>>();

  const join = async (ticket: Ticket): Promise<Grant> => {
    const known = underWay.get(ticket.id);
    if (known !== undefined) return known;
    const renewal = renew(ticket).finally(() => underWay.delete(ticket.id));
    underWay.set(ticket.id, renewal);
    return renewal;
  };

  const renewed = async (ticket: Ticket): Promise<string> => {
    const known = await underWay.get(ticket.id);
    // One that began before our token was issued may have brought just that token: only a new one can tell.
    const tells = known !== undefined && known.accessToken !== ticket.record.grant.accessToken;
    return tells ? known.accessToken : (await join(ticket)).accessToken;
  };

  const isSoonSpent = ({ record: { grant, renewedAt = -Infinity } }: Ticket) => {
    const ahead = Math.min(options.refreshAheadSeconds * 1_000, grant.lifetimeMs / 3);
    return grant.expiresAt - now() <= ahead && now() - renewedAt >= PACE_MS;
  };

  return {
    async accessToken(ticket, refused) {
      const { grant } = ticket.record;
      if (grant.expiresAt <= now() || grant.accessToken === refused) return renewed(ticket);
      if (isSoonSpent(ticket) && grant.refreshToken !== undefined) {
        join(ticket).catch((error: unknown) => log.warn({ err: error }, 'renewal in the background failed'));
      }
      return grant.accessToken;
    },
    async [Symbol.asyncDispose]() {
      await Promise.allSettled(underWay.values());
      await renew.settled();
    },
  };
}
