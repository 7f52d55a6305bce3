import type { Redis } from 'ioredis';

/** Maximum time for a command, in ms. The limit leaves time to send a 503 within 2 s while Redis is down. */
export const COMMAND_TIMEOUT_MS = 1_500;
/**
 * A connection is closed if a pending command gets no reply for this long (ms). A later command of the same request then fails soon
 * after the first, instead of waiting for its own timeout.
 */
const SILENCE_TIMEOUT_MS = COMMAND_TIMEOUT_MS + 200;
const CHECK_EVERY_MS = 100;

/** Redis did not reply to a command within COMMAND_TIMEOUT_MS. */
export class RedisTimeoutError extends Error {
  override readonly name = 'RedisTimeoutError';

  constructor() {
    super('Redis did not reply in time');
  }
}

/**
 * Closes the connection if its commands get no reply for 1.7 to 1.8 s. The `socketTimeout` of ioredis relies only on the clock. After a
 * pause (SIGSTOP, a paused container, a migrated virtual machine), `socketTimeout` would discard replies that have already arrived. Here, a
 * pause counts as one check, and replies in the socket buffer are read before the connection is closed.
 *
 * This function relies on ioredis 6: `commandQueue` holds the commands without a reply, and `stream` is set on `connect`.
 */
export function endSilentConnections(redis: Redis): void {
  redis.on('connect', () => {
    const { stream } = redis;
    if (stream.destroyed) return;
    /** Number of consecutive checks that found a pending command and no data since the previous check. */
    let silentChecks = 0;
    const isSilent = () => silentChecks * CHECK_EVERY_MS > SILENCE_TIMEOUT_MS;
    const endIfSilent = () => {
      if (isSilent()) stream.destroy(new Error('Redis did not reply to a command'));
    };
    const checking = setInterval(() => {
      silentChecks = redis.commandQueue.length === 0 ? 0 : silentChecks + 1;
      if (isSilent()) setImmediate(endIfSilent);
    }, CHECK_EVERY_MS).unref();
    stream.on('data', () => (silentChecks = 0));
    stream.once('close', () => clearInterval(checking));
  });
}
