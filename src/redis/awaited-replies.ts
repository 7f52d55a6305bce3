import { StoreUnavailableError } from '../errors.ts';
import { COMMAND_TIMEOUT_MS, RedisTimeoutError, SILENT_AFTER_MS } from './watchdog.ts';

interface Asked<T> {
  /** By performance.now(). */
  readonly askedAt: number;
  readonly resolve: (reply: T) => void;
  readonly reject: (error: StoreUnavailableError) => void;
}

/** Who waits for a reply on a connection to Redis: replies come in the order in which they were asked for. */
export interface AwaitedReplies<T> {
  /** Waits for one more, for 1.5 s at most: then it rejects with StoreUnavailableError. */
  add(): Promise<T>;
  /** The one whose reply comes next; undefined where nobody waits. Who was given up still has its turn. */
  next(): Pick<Asked<T>, 'resolve' | 'reject'> | undefined;
  /** None of those that were asked for will come. */
  lose(): void;
}

/** `onSilence` is called where a reply has been due for 1.7 s: whoever does ends the connection, and calls lose(). */
export function createAwaitedReplies<T>(onSilence: () => void): AwaitedReplies<T> {
  /** The oldest first. */
  let due: Asked<T>[] = [];
  let isWatching = false;

  /** One clock for all: who asked first is the first to be given up. */
  const watch = (ms: number) => {
    isWatching = true;
    // Where it was we who were held up, the reply is here and is read first.
    setTimeout(() => setImmediate(giveUpOverdue), ms).unref();
  };
  const giveUpOverdue = () => {
    isWatching = false;
    const [oldest] = due;
    if (oldest === undefined) return;
    const now = performance.now();
    const patient = due.findIndex(({ askedAt }) => askedAt + COMMAND_TIMEOUT_MS > now);
    const overdue = patient < 0 ? due : due.slice(0, patient);
    if (overdue.length > 0) rejectAll(overdue, new RedisTimeoutError());
    const lostAt = oldest.askedAt + SILENT_AFTER_MS;
    if (lostAt <= now) {
      onSilence();
      return;
    }
    const next = due[patient];
    watch(Math.min(lostAt, next === undefined ? Infinity : next.askedAt + COMMAND_TIMEOUT_MS) - now);
  };

  return {
    add() {
      if (!isWatching) watch(COMMAND_TIMEOUT_MS);
      return new Promise((resolve, reject) => {
        due.push({ askedAt: performance.now(), resolve, reject });
      });
    },
    next: () => due.shift(),
    lose() {
      const lost = due;
      due = [];
      if (lost.length > 0) rejectAll(lost, new Error('The connection to Redis is lost'));
    },
  };
}

function rejectAll<T>(asked: readonly Asked<T>[], why: Error): void {
  const error = new StoreUnavailableError(why);
  for (const { reject } of asked) reject(error);
}
