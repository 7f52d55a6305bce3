import { setTimeout as delay } from 'node:timers/promises';
import type { TokenProvider } from '../oauth/refresh/token-provider.ts';
import type { Logger } from '../observability/logger.ts';
import type { RedisClient } from '../redis/client.ts';
import type { ConnectionPool } from '../upstream/connection-pool.ts';
import type { RecordServiceResponse } from '../upstream/service-metrics.ts';
import type { Encryption } from '../session/encryption.ts';
import type { SessionStore } from '../session/store.ts';
import type { AtOnceBounds } from './concurrency.ts';
import type { Wait } from './export/patience.ts';
import { createWholeList } from './export/all-items.ts';
import type { WholeList } from './export/all-items.ts';
import { createFinding } from './search.ts';
import type { FindItems } from './search.ts';
import { createPageByNumber } from './page-by-number.ts';
import type { PageByNumber } from './page-by-number.ts';
import { createPageTokens } from './cursors.ts';
import { createServiceCalls } from './api-client.ts';
import { createReadItem } from './service-item.ts';
import type { ReadItem } from './service-item.ts';
import { createServicePages } from './service-pages.ts';
import { createSessionWalk } from './session-walk.ts';

/** What the pages of the workspace browser ask for. */
export interface Workspaces {
  readonly pageByNumber: PageByNumber;
  readonly findItems: FindItems;
  readonly readItem: ReadItem;
  readonly wholeList: WholeList;
  readonly pagesAtOnce: AtOnceBounds;
}

export interface WorkspacesOptions {
  readonly service: ConnectionPool;
  /** Null where nobody reads metrics. */
  readonly answered?: RecordServiceResponse | null;
  readonly tokens: Pick<TokenProvider, 'accessToken' | 'tokenAfterUnauthorized'>;
  readonly sessions: Pick<SessionStore, 'read'>;
  readonly redis: RedisClient;
  readonly encryption: Encryption;
  readonly log: Logger;
  /** Most connections to the service that this process has. */
  readonly connections: number;
  /** Starts the name of every key. */
  readonly prefix: string;
  /** Page numbers are remembered for as long as a session may stand unused. */
  readonly idleSeconds: number;
  /** Bounds one whole answer of the service. */
  readonly timeoutSeconds: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Spends a pause that the service asks an export for. */
  readonly wait?: Wait | undefined;
}

const waitInReality: Wait = async (ms, signal) => delay(ms, undefined, { signal });

/** Lists of the service by page numbers, by words and as a whole, over one client. */
export function createWorkspaces(options: WorkspacesOptions): Workspaces {
  const { now, sessions, wait = waitInReality } = options;
  const askService = createServiceCalls(options);
  const readList = createServicePages(askService, now);
  const walk = createSessionWalk({
    readList,
    sessions,
    pageTokens: createPageTokens(options),
    now,
  });
  return {
    pageByNumber: createPageByNumber(walk),
    findItems: createFinding(walk),
    readItem: createReadItem(askService),
    wholeList: createWholeList({ readList, sessions, wait }),
    pagesAtOnce: toPagesAtOnce(options.connections),
  };
}

/**
 * A page takes one call at a time, and a second one for the workspace that it is about: with all that a session may have
 * under way it takes about a quarter of the connections, and half as many pages as there are connections take all. More
 * than 16 tabs nobody loads at once.
 */
function toPagesAtOnce(connections: number): AtOnceBounds {
  return {
    most: Math.min(Math.max(2, Math.floor(connections / 8)), 16),
    places: Math.floor(connections / 2),
  };
}
