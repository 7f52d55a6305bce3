import { setTimeout as delay } from 'node:timers/promises';
import type { TokenProvider } from '../oauth/refresh/token-provider.ts';
import type { Logger } from '../observability/logger.ts';
import type { RedisClient } from '../redis/client.ts';
import type { Encryption } from '../session/encryption.ts';
import type { SessionStore } from '../session/store.ts';
import type { ConnectionPool } from '../upstream/connection-pool.ts';
import type { RecordServiceResponse } from '../upstream/service-metrics.ts';
import { createApiClient } from './api-client.ts';
import type { ConcurrencyLimits } from './concurrency.ts';
import { createCursors } from './cursors.ts';
import { createReadAllItems, type Wait } from './export/all-items.ts';
import { createPaging } from './paging.ts';
import { createSearch } from './search.ts';

export type Workspaces = ReturnType<typeof createWorkspaces>;

const waitWithTimer: Wait = async (ms, signal) => delay(ms, undefined, { signal });

/** What the pages and exports of lists read from the service, over one API client. */
export function createWorkspaces(options: {
  readonly service: ConnectionPool;
  /** Null while metrics are off. */
  readonly recordResponse?: RecordServiceResponse | null;
  readonly tokens: Pick<TokenProvider, 'accessToken' | 'tokenAfterUnauthorized'>;
  readonly sessions: Pick<SessionStore, 'read'>;
  readonly redis: RedisClient;
  readonly encryption: Encryption;
  readonly log: Logger;
  /** Most connections to the service from this process. */
  readonly connections: number;
  /** Starts every Redis key. */
  readonly prefix: string;
  readonly idleSeconds: number;
  readonly timeoutSeconds: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Waits before an export repeats a request. */
  readonly wait?: Wait | undefined;
}) {
  const { sessions, wait = waitWithTimer } = options;
  const api = createApiClient(options);
  const paging = createPaging({ ...options, api, cursors: createCursors(options) });
  return {
    api,
    paging,
    searchItems: createSearch(paging),
    readAllItems: createReadAllItems({ api, sessions, wait }),
    pageLimits: toPageLimits(options.connections),
  };
}

/**
 * A page sends one request at a time, and a second one for the workspace that it shows. So the pages of one session take at most a quarter of the
 * connections, and those of all sessions take all of them. Nobody loads more than 16 tabs at once.
 */
function toPageLimits(connections: number): ConcurrencyLimits {
  return {
    perSession: Math.min(Math.max(2, Math.floor(connections / 8)), 16),
    total: Math.floor(connections / 2),
  };
}
