import { createHash } from 'node:crypto';
import { fromStore } from '../platform/redis.ts';
import type { RedisClient } from '../platform/redis.ts';
import type { Ticket } from '../session/record.ts';
import { hashId } from '../session/session-records.ts';

/** A refresh that was begun with the very record that still stands, and brought no new one. */
export interface EarlierAttempt {
  /** Whoever began it has said that it failed; else it was killed, or still holds what the service answered. */
  readonly hasFailed: boolean;
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
  fail(ticket: Ticket): Promise<void>;
  /** The outcome is known, and stored where it has to be. */
  finish(sessionId: string): Promise<void>;
}

/**
 * One key for a session, beside its lock. It names the record by a hash of its sealed value: an attempt counts only
 * while that very value stands, and says nothing of what is in it.
 */
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

  const note = async ({ id, sealed }: Ticket, state: 'begun' | 'failed') => {
    const record = hashOf(sealed);
    const value = `${record} ${state} ${now()}`;
    const before = await fromStore(redis.set(keyOf(id), value, 'EX', idleSeconds, 'GET'));
    const [recordBefore, stateBefore, begunAt] = before?.split(' ') ?? [];
    return recordBefore === record ? { hasFailed: stateBefore === 'failed', begunAt: Number(begunAt) } : null;
  };

  return {
    begin: async (ticket) => note(ticket, 'begun'),
    fail: async (ticket) => void (await note(ticket, 'failed')),
    finish: async (sessionId) => void (await fromStore(redis.del(keyOf(sessionId)))),
  };
}

function hashOf(sealed: string): string {
  return createHash('sha256').update(sealed).digest('base64url');
}
