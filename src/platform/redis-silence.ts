import type { Redis } from 'ioredis';

const LOOK_EVERY_MS = 100;

/**
 * Ends each connection of `redis` over which commands have been without an answer for about so long (ms): it is not asked
 * again over that one. The `socketTimeout` of ioredis does so too, but without reading first what has come: a process
 * that was stopped for a while (SIGSTOP, a container that was paused, a machine that was moved) would throw away answers
 * that are there.
 */
export function endSilentConnections(redis: Redis, afterMs: number): void {
  redis.on('connect', () => {
    const { stream } = redis;
    /** By performance.now(); null while nothing is due, or something has just come. */
    let silentSince: number | null = null;
    const endWhereSilent = () => {
      if (silentSince === null || performance.now() - silentSince < afterMs) return;
      stream.destroy(new Error('Redis has left a command without an answer'));
    };
    const looking = setInterval(() => {
      if (redis.commandQueue.length === 0) silentSince = null;
      else silentSince ??= performance.now();
      setImmediate(endWhereSilent); // what has come is read before
    }, LOOK_EVERY_MS).unref();
    stream.on('data', () => (silentSince = null));
    stream.once('close', () => clearInterval(looking));
  });
}
