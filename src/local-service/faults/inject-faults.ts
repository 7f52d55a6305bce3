import { setTimeout as delay } from 'node:timers/promises';
import type { Request, RequestHandler, Response } from 'express';
import { StoreUnavailableError } from '../../platform/errors.ts';
import type { Logger } from '../../platform/log.ts';
import { requestId } from '../../platform/request-id.ts';
import { bearerTokenOf } from '../bearer-token.ts';
import { isKindOf } from './fault.ts';
import type { Fault, FaultRoute } from './fault.ts';
import type { FaultStore } from './fault-store.ts';
import { toQuery } from '../request-query.ts';
import { API_PATH, AUTHORIZATION_PATH, TOKEN_PATH } from '../service-paths.ts';
import { applyFault } from './apply-fault.ts';
import type { FaultParts } from './apply-fault.ts';

/**
 * Lets calls go wrong as `/_faults` asks, in front of the endpoints, which know nothing of it. While Redis is away
 * there are no faults but that one.
 */
export function injectFaults(faults: FaultStore, parts: FaultParts, log: Logger): RequestHandler {
  return async (req, res, next) => {
    const route = toFaultRoute(req);
    const fault = route && (await take(faults, route, req));
    if (fault === undefined) {
      next();
      return;
    }
    log.info({ requestId: requestId(res), route, fault: fault.kind }, 'fault');
    if (!(await passes(fault.latencyMs, res))) return;
    if (await applyFault(fault, req, res, parts)) next();
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
    return await faults.take(route, (fault) => concerns(fault, route, req));
  } catch (error) {
    if (error instanceof StoreUnavailableError) return undefined;
    throw error;
  }
}

/** Whether the fault can be one of this call: `any` is set for routes on which it means nothing as well. */
function concerns({ kind }: Fault, route: FaultRoute, req: Request): boolean {
  if (!isKindOf(route, kind)) return false;
  if (kind === 'next-expired') return toQuery(req).has('next');
  const needsToken = kind === 'access-token-revoked' || kind === 'grant-revoked';
  return !needsToken || bearerTokenOf(req) !== undefined;
}

/** Waits; resolves to false where the caller didn't. */
async function passes(ms: number, res: Response): Promise<boolean> {
  // One who left while the fault was looked up has closed before anybody listened.
  if (ms === 0 || res.destroyed) return !res.destroyed;
  const gone = new AbortController();
  res.once('close', () => gone.abort());
  return delay(ms, true, { signal: gone.signal }).catch(() => false);
}
