import type { Config } from '../config/load.ts';
import { derive, type Reloadable } from '../config/reloadable.ts';
import type { ReadSession } from '../redis/session-reads.ts';
import type { Logger } from '../observability/logger.ts';
import type { RedisClient } from '../redis/client.ts';
import { createEncryption } from './encryption.ts';
import type { Encryption } from './encryption.ts';
import { createSessionEvents } from './events.ts';
import type { SessionEvents } from './events.ts';
import type { SessionMetrics } from './session-metrics.ts';
import { createSessionStore } from './store.ts';
import type { SessionStore } from './store.ts';
import { createSessionCookie } from './cookie.ts';
import type { SessionCookie } from './cookie.ts';

/** What other rooms know sessions by. */
export interface SessionServices {
  readonly encryption: Encryption;
  readonly store: SessionStore;
  readonly life: SessionEvents;
  readonly cookie: SessionCookie;
}

/** Makes those of one process. Nothing of it has to be closed. `now` is in ms since the epoch; `metrics` are null where nobody reads them. */
export function createSessionServices(deps: {
  readonly config: Config;
  readonly secrets: Reloadable<Pick<Config, 'sessionKeys'>>;
  readonly redis: RedisClient;
  readonly readSession: ReadSession;
  readonly metrics: SessionMetrics | null;
  readonly log: Logger;
  readonly now: () => number;
}): SessionServices {
  const { config } = deps;
  const sessionKeys = derive(deps.secrets, (current) => current.sessionKeys);
  const encryption = createEncryption(sessionKeys);
  const life = createSessionEvents(deps.log, deps.metrics);
  const store = createSessionStore({
    ...deps,
    encryption,
    life,
    prefix: config.redisPrefix,
    idleSeconds: config.sessionIdleSeconds,
    maxSeconds: config.sessionMaxSeconds,
  });
  const https = config.publicOrigin.startsWith('https:');
  const cookie = createSessionCookie({ https, sameSite: config.cookieSameSite, sessionKeys });
  return { encryption, store, life, cookie };
}
