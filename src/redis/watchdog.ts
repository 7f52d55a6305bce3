import type { Redis } from 'ioredis';

/**
 * The contract answers 503 within 2 s while Redis is away. One command may take this long (ms), and nothing
 * queues behind a lost connection, so that even the slowest "no" leaves time to say it.
 */
export const COMMAND_TIMEOUT_MS = 1_500;
/**
 * Who has left a command without an answer for so long (ms) is not asked again over this connection: a request that goes
 * on with its next step has its "no" hardly later.
 */
export const SILENT_AFTER_MS = COMMAND_TIMEOUT_MS + 200;
const LOOK_EVERY_MS = 100;

/** A command that Redis left without a reply for COMMAND_TIMEOUT_MS. */
export class RedisTimeoutError extends Error {
  override readonly name = 'RedisTimeoutError';

  constructor() {
    super('Redis did not answer in time');
  }
}

/**
 * Ends each connection of `redis` over which commands have been without an answer for 1.7 to 1.8 s. The `socketTimeout` of
 * ioredis would do so, too, but by the clock alone: a process that was stopped for a while (SIGSTOP, a container that
 * was paused, a machine that was moved) would throw away answers that are there. Here a stop is no more than one look, and what
 * has come is read before the last one counts.
 *
 * That rests on this of ioredis 6: `commandQueue` holds what waits for a reply, and `connect` comes with `stream` set.
 */
export function endSilentConnections(redis: Redis): void {
  redis.on('connect', () => {
    const { stream } = redis;
    if (stream.destroyed) return;
    /** At which something was due, and nothing had come since the one before. */
    let looks = 0;
    const isSilent = () => looks * LOOK_EVERY_MS > SILENT_AFTER_MS;
    const endIfSilent = () => {
      if (isSilent()) stream.destroy(new Error('Redis has left a command without an answer'));
    };
    const looking = setInterval(() => {
      looks = redis.commandQueue.length === 0 ? 0 : looks + 1;
      if (isSilent()) setImmediate(endIfSilent);
    }, LOOK_EVERY_MS).unref();
    stream.on('data', () => (looks = 0));
    stream.once('close', () => clearInterval(looking));
  });
}
