import type { Config } from '../config.ts';
import { derive } from '../platform/changing.ts';
import type { Changing } from '../platform/changing.ts';
import type { Getex } from '../platform/getex.ts';
import type { Logger } from '../platform/log.ts';
import type { RedisClient } from '../platform/redis.ts';
import { createSealer } from './sealing.ts';
import type { Sealer } from './sealing.ts';
import { createSessionLife } from './session-life.ts';
import type { SessionLife } from './session-life.ts';
import type { SessionMetrics } from './session-metrics.ts';
import { createSessionRecords } from './session-records.ts';
import type { SessionRecords } from './session-records.ts';
import { createTicketCookie } from './ticket-cookie.ts';
import type { TicketCookie } from './ticket-cookie.ts';

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
