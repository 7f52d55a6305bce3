import { setTimeout as delay } from 'node:timers/promises';
import type { Request, RequestHandler, Response } from 'express';
import { StoreUnavailableError } from '../platform/errors.ts';
import type { Logger } from '../platform/log.ts';
import { requestId } from '../platform/request-id.ts';
import { bearerTokenOf } from './bearer-token.ts';
import type { Fault, FaultRoute } from './fault.ts';
import type { FaultStore } from './fault-store.ts';
import { toQuery } from './request-query.ts';
import { API_PATH, AUTHORIZATION_PATH, TOKEN_PATH } from './service-paths.ts';
import { spoil } from './spoil.ts';
import type { SpoilingParts } from './spoil.ts';

/**
 * Lets calls go wrong as `/_faults` asks, in front of the endpoints, which know nothing of it. While Redis is away
 * there are no faults but that one.
 */
export function switchFaults(faults: FaultStore, parts: SpoilingParts, log: Logger): RequestHandler {
  return async (req, res, next) => {
    const route = toFaultRoute(req);
    const fault = route && (await take(faults, route, req));
    if (fault === undefined) {
      next();
      return;
    }
    log.info({ requestId: requestId(res), route, fault: fault.kind }, 'fault');
    if (!(await passes(fault.latencyMs, res))) return;
    if (await spoil(fault, req, res, parts)) next();
  };
}

const ROUTES: readonly (readonly [FaultRoute, RegExp, methods: readonly string[]])[] = [
  ['authorization', new RegExp(`^${AUTHORIZATION_PATH}$`), ['GET', 'HEAD', 'POST']],
  ['token', new RegExp(`^${TOKEN_PATH}$`), ['POST']],
  ['workspaces', new RegExp(`^${API_PATH}/workspaces$`), ['GET', 'HEAD']],
  ['workspace', new RegExp(`^${API_PATH}/workspaces/[^/]+$`), ['GET', 'HEAD']],
  ['rooms', new RegExp(`^${API_PATH}/workspaces/[^/]+/rooms$`), ['GET', 'HEAD']],
  ['murals', new RegExp(`^${API_PATH}/workspaces/[^/]+/murals$`), ['GET', 'HEAD']],
];

function toFaultRoute({ method, path }: Request): FaultRoute | undefined {
  return ROUTES.find(([, pattern, methods]) => methods.includes(method) && pattern.test(path))?.[0];
}

async function take(faults: FaultStore, route: FaultRoute, req: Request): Promise<Fault | undefined> {
  try {
    return await faults.take(route, (fault) => concerns(fault, req));
  } catch (error) {
    if (error instanceof StoreUnavailableError) return undefined;
    throw error;
  }
}

/** Whether the call has what the fault spoils. */
function concerns({ kind }: Fault, req: Request): boolean {
  if (kind === 'next-expired') return toQuery(req).has('next');
  const needsToken = kind === 'access-token-revoked' || kind === 'grant-revoked';
  return !needsToken || bearerTokenOf(req) !== undefined;
}

/** Waits; resolves to false where the caller didn't. */
async function passes(ms: number, res: Response): Promise<boolean> {
  if (ms === 0) return true;
  const gone = new AbortController();
  res.once('close', () => gone.abort());
  return delay(ms, true, { signal: gone.signal }).catch(() => false);
}
