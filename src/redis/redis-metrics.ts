import { Command } from 'ioredis';
import type { Registry } from 'prom-client';
import { createCounter, createDurationHistogram } from '../observability/prometheus.ts';
import type { RedisClient } from './client.ts';
import { isSessionRead } from './session-reads.ts';
import { COMMAND_TIMEOUT_MS } from './watchdog.ts';

/** `read` reads the sessions for one or more requests. */
export const REDIS_COMMANDS = ['read', 'other'] as const;
/** Kinds of failure: no connection, no reply in time, no memory left, and other error replies. */
export const REDIS_ERRORS = ['unreachable', 'timeout', 'full', 'other'] as const;

export type RedisMetrics = ReturnType<typeof createRedisMetrics>;

/** Upper bounds in seconds, ranging from the reply time of a nearby Redis to the command timeout. CloakroomRedisSlow needs 0.05 s. */
const BUCKETS = [0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.5];

export function createRedisMetrics(registry: Registry) {
  const commands = createDurationHistogram(registry, {
    name: 'cloakroom_redis_command_duration_seconds',
    help: 'Time from a Redis command to its reply, by command: read (sessions for one or more requests) or other.',
    buckets: BUCKETS,
  });
  const countError = createCounter(registry, {
    name: 'cloakroom_redis_errors_total',
    help: 'Failed Redis commands by kind: unreachable, timeout (no reply in time), full (out of memory), other (error replies).',
    values: { kind: REDIS_ERRORS },
  });
  const series = {
    read: commands.series({ command: 'read' }),
    other: commands.series({ command: 'other' }),
  };

  return {
    /** Counts a command that has received a reply or failed with `error`. `sentAt` is a time from performance.now(). */
    settled(command: (typeof REDIS_COMMANDS)[number], sentAt: number, error?: unknown): void {
      const ms = performance.now() - sentAt;
      series[command].observe(ms);
      // After the command timeout, the caller has given up, even if a reply has arrived.
      if (ms >= COMMAND_TIMEOUT_MS) countError({ kind: 'timeout' });
      else if (error !== undefined) countError({ kind: toKind(error) });
    },
  };
}

/**
 * Counts a client's commands by replacing its `sendCommand`, which ioredis 6.0.0 calls for every command. ioredis's own tracing covers all
 * clients in a process, but omits commands that fail because there is no connection. Review this patch for each new version of ioredis;
 * test/app/redis/redis-metrics.test.ts checks that it works.
 */
export function countCommands(client: RedisClient, metrics: RedisMetrics): void {
  const send = client.sendCommand.bind(client) as (...sent: unknown[]) => unknown;
  client.sendCommand = (command: Command, ...more: unknown[]) => {
    // ioredis itself sends handshake commands when it connects. Old Redis versions refuse some of them, which is not a failure.
    const isHandshake = client.status === 'connect' && Command.checkFlag('HANDSHAKE_COMMANDS', command.name);
    if (!isHandshake) {
      const kind = isSessionRead(command) ? 'read' : 'other';
      const sentAt = performance.now();
      command.promise.then(
        () => metrics.settled(kind, sentAt),
        (error: unknown) => metrics.settled(kind, sentAt, error),
      );
    }
    return send(command, ...more);
  };
}

/** Returns the kind of an error. Error replies begin with a word in capitals, except errors from scripts before Redis 7. */
function toKind(error: unknown): (typeof REDIS_ERRORS)[number] {
  const message = error instanceof Error ? error.message : '';
  if (/\bOOM command not allowed\b/.test(message)) return 'full';
  return /^-?[A-Z]{2,} /.test(message) ? 'other' : 'unreachable';
}
