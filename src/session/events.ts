import { createHash } from 'node:crypto';
import type { Registry } from 'prom-client';
import { createBoundedCache } from '../bounded-cache.ts';
import type { RequestContext } from '../http/request-context.ts';
import type { Logger } from '../observability/logger.ts';
import { createCounter } from '../observability/prometheus.ts';

/** Why a session ended. Expiry of an unused session is not included, because Redis does not report it. */
export const SESSION_END_REASONS = [
  'signed_out',
  'signed_in_again',
  'invalid_grant',
  'no_refresh_token',
  'age',
] as const;
type SessionEndReason = (typeof SESSION_END_REASONS)[number];

export type SessionMetrics = ReturnType<typeof createSessionMetrics>;
export type SessionEvents = ReturnType<typeof createSessionEvents>;

export function createSessionMetrics(registry: Registry) {
  const started = createCounter(registry, {
    name: 'cloakroom_sessions_started_total',
    help: 'Sessions started by a sign-in.',
    values: {},
  });
  const ended = createCounter(registry, {
    name: 'cloakroom_sessions_ended_total',
    help: 'Ended sessions by cause. Sessions that expire unused are not counted.',
    values: { cause: SESSION_END_REASONS },
  });
  return { started: () => started({}), ended: (cause: SessionEndReason) => ended({ cause }) };
}

/**
 * Logs the start, refresh and end of sessions, and counts starts and ends. `context` belongs to the request that caused the
 * event.
 */
export function createSessionEvents(log: Logger, metrics: SessionMetrics | null) {
  return {
    started(id: string, context?: RequestContext): void {
      metrics?.started();
      log.info(sessionLogFields(id, context), 'session started');
    },
    refreshed(id: string, context?: RequestContext): void {
      log.info(sessionLogFields(id, context), 'token refreshed');
    },
    /** `fields` are added to the log line. */
    ended(id: string, reason: SessionEndReason, context?: RequestContext, fields?: object): void {
      metrics?.ended(reason);
      log.info({ ...sessionLogFields(id, context), reason, ...fields }, 'session ended');
    },
  };
}

/** Returns the fields common to all log lines about a session: its log id, and the ids of the request that caused the event. */
export function sessionLogFields(id: string, context: RequestContext | undefined) {
  return { session: sessionLogId(id), requestId: context?.requestId, traceId: context?.trace?.traceId };
}

/** Log ids keyed by session id, cached because every request logs one. */
const logIds = createBoundedCache<string>(10_000);

/**
 * Returns the id of a session for use in logs, which is the same in every process and under every session key. The log id
 * reveals nothing about the session id, which has 256 random bits. The session's Redis key uses a different hash.
 */
export function sessionLogId(id: string): string {
  const cached = logIds.get(id);
  if (cached !== undefined) return cached;
  const hash = createHash('sha256').update('cloakroom session in logs').update(id).digest('base64url');
  const logId = hash.slice(0, 16);
  logIds.set(id, logId);
  return logId;
}
