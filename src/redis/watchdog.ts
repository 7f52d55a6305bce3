import type { Redis } from 'ioredis';

/** Maximum time for a command, in ms. It leaves time to send the 503 that clients get within 2 s while Redis is down. */
export const COMMAND_TIMEOUT_MS = 1_500;
/**
 * After this time (ms) without a reply to a pending command, a connection is closed, so that it delays no further command. A
 * request's second command then fails little later than its first.
 */
const SILENCE_TIMEOUT_MS = COMMAND_TIMEOUT_MS + 200;
const CHECK_EVERY_MS = 100;

/** Redis left a command without a reply for COMMAND_TIMEOUT_MS. */
export class RedisTimeoutError extends Error {
  override readonly name = 'RedisTimeoutError';

  constructor() {
    super('Redis did not reply in time');
  }
}

/**
 * Closes each connection whose commands were without a reply for 1.7 to 1.8 s. ioredis has `socketTimeout` for this, but it
 * goes by the clock alone. A process that was paused (SIGSTOP, a paused container, a virtual machine that was moved) would
 * discard replies that have arrived. Here a pause counts as one check, and replies in the socket's buffer are read before the
 * last check counts.
 *
 * It relies on ioredis 6: `commandQueue` holds the commands without a reply, and `stream` is set at `connect`.
 */
export function endSilentConnections(redis: Redis): void {
  redis.on('connect', () => {
    const { stream } = redis;
    if (stream.destroyed) return;
    /** Checks in a row that found a command without a reply, and no data since the one before. */
    let silentChecks = 0;
    const isSilent = () => silentChecks * CHECK_EVERY_MS > SILENCE_TIMEOUT_MS;
    const endIfSilent = () => {
      if (isSilent()) stream.destroy(new Error('Redis left a command without a reply'));
    };
    const checking = setInterval(() => {
      silentChecks = redis.commandQueue.length === 0 ? 0 : silentChecks + 1;
      if (isSilent()) setImmediate(endIfSilent);
    }, CHECK_EVERY_MS).unref();
    stream.on('data', () => (silentChecks = 0));
    stream.once('close', () => clearInterval(checking));
  });
}
