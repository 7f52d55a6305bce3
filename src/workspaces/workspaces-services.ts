import { setTimeout as delay } from 'node:timers/promises';
import { createApiClient } from './api-client.ts';
import type { PageLimits } from './concurrency.ts';
import { createCursors } from './cursors.ts';
import { createReadAllItems, type Wait } from './export/all-items.ts';
import { createPaging } from './paging.ts';
import { createSearch } from './search.ts';

type WorkspacesOptions = Parameters<typeof createApiClient>[0] &
  Parameters<typeof createCursors>[0] & {
    /** Maximum number of connections to the service from this process. */
    readonly connections: number;
    /** Waits before an export retries a request. */
    readonly wait?: Wait | undefined;
  };

export type Workspaces = ReturnType<typeof createWorkspaces>;

const waitWithTimer: Wait = async (ms, signal) => delay(ms, undefined, { signal });

/** Creates the functions that pages and exports use to read from the service. They share one API client. */
export function createWorkspaces(options: WorkspacesOptions) {
  const { connections, now, wait = waitWithTimer } = options;
  const api = createApiClient(options);
  const paging = createPaging({ api, cursors: createCursors(options), now });
  return {
    api,
    paging,
    searchItems: createSearch(paging),
    readAllItems: createReadAllItems({ api, wait }),
    pageLimits: toPageLimits(connections),
  };
}

/**
 * Returns the limits on concurrent page requests. A page has at most two requests to the service in flight. One session can therefore
 * take about a quarter of the connections, and all sessions together can take all of them. Few users load more than 16 tabs at
 * a time.
 */
function toPageLimits(connections: number): PageLimits {
  return {
    perSession: Math.min(Math.max(2, Math.floor(connections / 8)), 16),
    total: Math.floor(connections / 2),
  };
}
