import { createHash } from 'node:crypto';
import { fromStore } from '../platform/redis.ts';
import type { RedisClient } from '../platform/redis.ts';
import type { Ticket } from '../session/record.ts';
import { hashId } from '../session/session-records.ts';

/** A refresh with the grant that still stands, and that brought no other. */
export interface EarlierAttempt {
  /**
   * `open`: nobody has said what became of it; its process was killed, or still holds what the service answered.
   * `broken off`: it was found open, and the one after it failed. `failed`: its own process said so.
   */
  readonly state: 'open' | 'broken off' | 'failed';
  /** Milliseconds since the epoch. */
  readonly begunAt: number;
}

/**
 * What was begun at the token endpoint. A process that is killed in the middle of a renewal can't tell whether the
 * service had answered; whoever renews next can, by what the service says then. Each call rejects with
 * StoreUnavailableError.
 */
export interface RenewalAttempts {
  /** Notes, before the token endpoint is asked, that it will be; gives the attempt before this one. */
  begin(ticket: Ticket): Promise<EarlierAttempt | null>;
  /** The token endpoint brought nothing: it may or may not have used up the refresh token. */
  fail(ticket: Ticket, earlier: EarlierAttempt | null): Promise<void>;
  /** The outcome is known, and stored where it has to be. */
  finish(sessionId: string): Promise<void>;
}

/** One key for a session, beside its lock. It names the grant, so that it counts only while that stands. */
export function createRenewalAttempts(deps: {
  readonly redis: RedisClient;
  readonly prefix: string;
  /** A record may stand unused for this long, and an attempt with it. */
  readonly idleSeconds: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}): RenewalAttempts {
  const { redis, idleSeconds, now } = deps;
  const keyOf = (sessionId: string) => `${deps.prefix}attempt:${hashId(sessionId)}`;

  const note = async (ticket: Ticket, { state, begunAt }: EarlierAttempt): Promise<EarlierAttempt | null> => {
    const grant = nameGrant(ticket);
    const value = JSON.stringify({ grant, state, begunAt });
    const before = await fromStore(redis.set(keyOf(ticket.id), value, 'EX', idleSeconds, 'GET'));
    if (before === null) return null;
    const earlier = JSON.parse(before) as EarlierAttempt & { readonly grant: string };
    return earlier.grant === grant ? earlier : null;
  };

  return {
    begin: async (ticket) => note(ticket, { state: 'open', begunAt: now() }),
    async fail(ticket, earlier) {
      const isBrokenOff = earlier !== null && earlier.state !== 'failed';
      const state = isBrokenOff ? 'broken off' : 'failed';
      await note(ticket, { state, begunAt: earlier?.begunAt ?? now() });
    },
    finish: async (sessionId) => void (await fromStore(redis.del(keyOf(sessionId)))),
  };
}

/** By a hash that says nothing of it: the id is in there, too, and is a secret. */
function nameGrant({ id, record }: Ticket): string {
  return createHash('sha256').update(`${id} ${record.grant.accessToken}`).digest('base64url');
}
