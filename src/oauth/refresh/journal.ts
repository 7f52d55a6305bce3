import { createHash, randomUUID } from 'node:crypto';
import { z } from 'zod';
import { fromStore } from '../../redis/client.ts';
import type { RedisClient } from '../../redis/client.ts';
import type { Session } from '../../session/record.ts';
import { keyBesideSession } from '../../session/store.ts';
import type { HeldLock } from './lock.ts';

const noteSchema = z.object({
  /** Hash of the grant that it began with. */
  grant: z.string(),
  /**
   * `open`: nobody has said what became of it; its process asks, holds what the service answered, or was killed.
   * `broken off`: it was found open, and the one after it failed. `failed`: its own process said so.
   */
  state: z.enum(['open', 'broken off', 'failed']),
  /** Milliseconds since the epoch. */
  begunAt: z.number().min(0).max(8.64e15),
  /** Another one every second, as long as the process that began it lives and reaches Redis. */
  sign: z.string(),
});

/** A refresh with the grant that still stands. */
export type EarlierAttempt = Readonly<z.infer<typeof noteSchema>>;

/** An attempt of this process's own: its note is changed and taken away by it alone. */
export interface OwnAttempt {
  /** The token endpoint brought nothing: it may or may not have used up the refresh token. */
  readonly fail: (earlier: EarlierAttempt | null) => Promise<void>;
  /** The outcome is known, and stored where it has to be. */
  readonly finish: () => Promise<void>;
  /** Gives no more signs of life. */
  readonly abandon: () => void;
}

/**
 * What was begun at the token endpoint. A process that is killed in the middle of a renewal can't tell whether the
 * service had answered; whoever renews next can, by what the service says then. Each call rejects with
 * StoreUnavailableError.
 */
export interface RenewalAttempts {
  /** The note of an attempt with the ticket's grant, or null. */
  find(ticket: Session): Promise<EarlierAttempt | null>;
  /**
   * Notes, before the token endpoint is asked, that it will be, and then gives signs of life. Resolves null where the
   * lock is lost: another process may have noted its own attempt since.
   */
  begin(ticket: Session, lock: HeldLock): Promise<OwnAttempt | null>;
}

export const SIGN_OF_LIFE_MS = 1_000;

/** The first word of a note names its attempt: another's is left alone. */
const IF_OWN = (then: string) => `
  local found = redis.call('GET', KEYS[1])
  if found and string.sub(found, 1, #ARGV[1]) == ARGV[1] then ${then} end
  return 1`;
const REPLACE_OWN = IF_OWN(`redis.call('SET', KEYS[1], ARGV[2], 'KEEPTTL')`);
const DELETE_OWN = IF_OWN(`redis.call('DEL', KEYS[1])`);

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
  const keyOf = (sessionId: string) => keyBesideSession(deps.prefix, 'attempt', sessionId);
  const toText = (attempt: string, note: Omit<EarlierAttempt, 'sign'>) =>
    `${attempt} ${JSON.stringify({ ...note, sign: randomUUID() })}`;

  return {
    async find(ticket) {
      const note = parseNote(await fromStore(redis.get(keyOf(ticket.id))));
      return note?.grant === nameGrant(ticket) ? note : null;
    },
    async begin(ticket, lock) {
      const attempt = randomUUID();
      const key = keyOf(ticket.id);
      const note = { grant: nameGrant(ticket), state: 'open', begunAt: now() } as const;
      if (!(await lock.setIfHeld(key, toText(attempt, note), idleSeconds))) return null;
      const giveSign = () => {
        // While Redis is away none gets through; the next one may.
        redis.eval(REPLACE_OWN, 1, key, attempt, toText(attempt, note)).catch(() => {});
      };
      const signs = setInterval(giveSign, SIGN_OF_LIFE_MS).unref();
      return {
        abandon: () => clearInterval(signs),
        async fail(earlier) {
          clearInterval(signs);
          const isBrokenOff = earlier !== null && earlier.state !== 'failed';
          const state = isBrokenOff ? 'broken off' : 'failed';
          const failed = { ...note, state, begunAt: earlier?.begunAt ?? note.begunAt } as const;
          await fromStore(redis.eval(REPLACE_OWN, 1, key, attempt, toText(attempt, failed)));
        },
        async finish() {
          clearInterval(signs);
          await fromStore(redis.eval(DELETE_OWN, 1, key, attempt));
        },
      };
    },
  };
}

/** Null where somebody else has written there. */
function parseNote(text: string | null): EarlierAttempt | null {
  try {
    return noteSchema.safeParse(JSON.parse(text?.slice(text.indexOf(' ')) ?? 'null')).data ?? null;
  } catch {
    return null;
  }
}

/** By a hash that says nothing of it: the id is in there, too, and is a secret. */
function nameGrant({ id, record }: Session): string {
  return createHash('sha256')
    .update(`${id} ${JSON.stringify(record.grant)}`)
    .digest('base64url');
}
