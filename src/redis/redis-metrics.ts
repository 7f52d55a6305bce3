import type { Registry } from 'prom-client';
import { createCounter, createDurationHistogram } from '../observability/prometheus.ts';
import { COMMAND_TIMEOUT_MS, RedisTimeoutError } from './watchdog.ts';

/** `read` is the one that reads a session with each request. */
export const REDIS_COMMANDS = ['read', 'other'] as const;
/** No connection, no reply in time, no memory left, other refusals. */
export const REDIS_ERRORS = ['away', 'timeout', 'full', 'other'] as const;

/** Counts commands of Redis. */
export interface RedisMetrics {
  /** One was answered, or has failed with `error`. `askedAt` is by performance.now(). */
  settled(command: (typeof REDIS_COMMANDS)[number], askedAt: number, error?: unknown): void;
}

/** From what a Redis nearby takes to what nobody waits for. */
const BUCKETS = [
  0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 1.5,
];

export function createRedisMetrics(registry: Registry): RedisMetrics {
  const commands = createDurationHistogram(registry, {
    name: 'cloakroom_redis_command_duration_seconds',
    help: 'Commands of Redis until their reply; “read” is that of a session with each request.',
    buckets: BUCKETS,
  });
  const countError = createCounter(registry, {
    name: 'cloakroom_redis_errors_total',
    help: 'Commands of Redis that brought nothing, by kind: no connection, no reply in time, no memory left, other refusals.',
    values: { kind: REDIS_ERRORS },
  });
  const series = {
    read: commands.series({ command: 'read' }),
    other: commands.series({ command: 'other' }),
  };

  return {
    settled(command, askedAt, error) {
      const ms = performance.now() - askedAt;
      series[command].observe(ms / 1_000);
      // By then whoever asked has given up, whatever came of it.
      if (ms >= COMMAND_TIMEOUT_MS) countError({ kind: 'timeout' });
      else if (error !== undefined) countError({ kind: toKind(error) });
    },
  };
}

/** Redis’s own refusals begin with a word in capitals; inside a script, before Redis 7, that word comes later. */
function toKind(error: unknown): (typeof REDIS_ERRORS)[number] {
  const cause = innermost(error);
  // A timer of Node may be due some milliseconds before performance.now() has come so far.
  if (cause instanceof RedisTimeoutError) return 'timeout';
  const { message } = cause;
  if (/\bOOM command not allowed\b/.test(message)) return 'full';
  return /^-?[A-Z]{2,} /.test(message) ? 'other' : 'away';
}

function innermost(error: unknown): Error {
  if (!(error instanceof Error)) return new Error('not an Error');
  return error.cause instanceof Error ? innermost(error.cause) : error;
}
