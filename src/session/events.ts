import type { Logger } from '../observability/logger.ts';
import type { RequestContext } from '../http/request-context.ts';
import { sessionLogId } from './log-id.ts';
import type { EndOfSession, SessionMetrics } from './session-metrics.ts';

/** Tells of what happens to sessions, each under its pseudonym; `by` is the request that brought it about. */
export interface SessionEvents {
  started(id: string, by?: RequestContext): void;
  /** Its access token was refreshed. */
  refreshed(id: string, by?: RequestContext): void;
  /** `more` is said of it beside the reason. */
  ended(id: string, reason: EndOfSession, by?: RequestContext, more?: object): void;
}

/** What each line about a session has: its pseudonym, and by which request it came to that. */
export function toSessionMembers(id: string, by: RequestContext | undefined) {
  return { session: sessionLogId(id), requestId: by?.requestId, traceId: by?.trace?.traceId };
}

export function createSessionEvents(log: Logger, metrics: SessionMetrics | null): SessionEvents {
  return {
    started(id, by) {
      metrics?.started();
      log.info(toSessionMembers(id, by), 'session started');
    },
    refreshed: (id, by) => log.info(toSessionMembers(id, by), 'token refreshed'),
    ended(id, reason, by, more) {
      metrics?.ended(reason);
      log.info({ ...toSessionMembers(id, by), reason, ...more }, 'session ended');
    },
  };
}
