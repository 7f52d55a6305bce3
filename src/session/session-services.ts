import type { Config } from '../config/load.ts';
import { derive, type Reloadable } from '../config/reloadable.ts';
import type { Logger } from '../observability/logger.ts';
import type { RedisClient } from '../redis/client.ts';
import type { ReadSession } from '../redis/session-reads.ts';
import { createSessionCookie } from './cookie.ts';
import { createEncryption } from './encryption.ts';
import { createSessionEvents, type SessionMetrics } from './events.ts';
import { createSessionStore } from './store.ts';

export type SessionServices = ReturnType<typeof createSessionServices>;

/** Creates the session services, once per process. `now` is in ms since the epoch; `metrics` is null if metrics are off. */
export function createSessionServices(deps: {
  readonly config: Config;
  readonly secrets: Reloadable<Pick<Config, 'sessionKeys'>>;
  readonly redis: RedisClient;
  readonly readSession: ReadSession;
  readonly metrics: SessionMetrics | null;
  readonly log: Logger;
  readonly now: () => number;
}) {
  const { config } = deps;
  const sessionKeys = derive(deps.secrets, (current) => current.sessionKeys);
  const encryption = createEncryption(sessionKeys);
  const sessionEvents = createSessionEvents(deps.log, deps.metrics);
  const store = createSessionStore({
    ...deps,
    encryption,
    sessionEvents,
    prefix: config.redisPrefix,
    idleSeconds: config.sessionIdleSeconds,
    maxSeconds: config.sessionMaxSeconds,
  });
  const { isHttps: https, cookieSameSite: sameSite } = config;
  const cookie = createSessionCookie({ https, sameSite, sessionKeys });
  return { encryption, store, sessionEvents, cookie };
}
