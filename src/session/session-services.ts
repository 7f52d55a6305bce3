import type { Config } from '../config/load.ts';
import { derive } from '../config/reloadable.ts';
import type { Changing } from '../config/reloadable.ts';
import type { Getex } from '../redis/getex.ts';
import type { Logger } from '../observability/logger.ts';
import type { RedisClient } from '../redis/client.ts';
import { createSealer } from './encryption.ts';
import type { Sealer } from './encryption.ts';
import { createSessionLife } from './events.ts';
import type { SessionLife } from './events.ts';
import type { SessionMetrics } from './session-metrics.ts';
import { createSessionRecords } from './store.ts';
import type { SessionRecords } from './store.ts';
import { createTicketCookie } from './cookie.ts';
import type { TicketCookie } from './cookie.ts';

/** What other rooms know sessions by. */
export interface SessionServices {
  readonly sealer: Sealer;
  readonly records: SessionRecords;
  readonly life: SessionLife;
  readonly cookie: TicketCookie;
}

/** Makes those of one process. Nothing of it has to be closed. `now` is in ms since the epoch; `metrics` are null where nobody reads them. */
export function createSessionServices(deps: {
  readonly config: Config;
  readonly secrets: Changing<Pick<Config, 'sessionKeys'>>;
  readonly redis: RedisClient;
  readonly getex: Getex;
  readonly metrics: SessionMetrics | null;
  readonly log: Logger;
  readonly now: () => number;
}): SessionServices {
  const { config } = deps;
  const sessionKeys = derive(deps.secrets, (current) => current.sessionKeys);
  const sealer = createSealer(sessionKeys);
  const life = createSessionLife(deps.log, deps.metrics);
  const records = createSessionRecords({
    ...deps,
    sealer,
    life,
    prefix: config.redisPrefix,
    idleSeconds: config.sessionIdleSeconds,
    maxSeconds: config.sessionMaxSeconds,
  });
  const https = config.publicOrigin.startsWith('https:');
  const cookie = createTicketCookie({ https, sameSite: config.cookieSameSite, sessionKeys });
  return { sealer, records, life, cookie };
}
