import type { Logger } from '../platform/log.ts';
import type { RequestNotes } from '../platform/request-notes.ts';
import { pseudonymOf } from './pseudonym.ts';
import type { EndOfSession, SessionMetrics } from './session-metrics.ts';

/** Tells of what happens to sessions, each under its pseudonym; `by` is the request that brought it about. */
export interface SessionLife {
  started(id: string, by?: RequestNotes): void;
  /** Its grant was renewed. */
  renewed(id: string, by?: RequestNotes): void;
  /** `more` is said of it beside the reason. */
  ended(id: string, reason: EndOfSession, by?: RequestNotes, more?: object): void;
}

export function createSessionLife(log: Logger, metrics: SessionMetrics | null): SessionLife {
  const toLog = (id: string, by: RequestNotes | undefined) => ({
    session: pseudonymOf(id),
    requestId: by?.requestId,
    traceId: by?.trace?.traceId,
  });
  return {
    started(id, by) {
      metrics?.started();
      log.info(toLog(id, by), 'session started');
    },
    renewed: (id, by) => log.info(toLog(id, by), 'session renewed'),
    ended(id, reason, by, more) {
      metrics?.ended(reason);
      log.info({ ...toLog(id, by), reason, ...more }, 'session ended');
    },
  };
}
