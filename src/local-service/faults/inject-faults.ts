import { setTimeout as delay } from 'node:timers/promises';
import type { Request, RequestHandler } from 'express';
import type { Logger } from '../../platform/log.ts';
import { requestId } from '../../platform/request-id.ts';
import { bearerTokenOf } from '../bearer-token.ts';
import { toFormFields } from '../form-body.ts';
import { isKindOf } from './fault.ts';
import type { Fault, FaultRoute } from './fault.ts';
import type { FaultStore } from './fault-store.ts';
import { toQuery } from '../request-query.ts';
import { API_PATH, AUTHORIZATION_PATH, TOKEN_PATH } from '../service-paths.ts';
import { applyFault } from './apply-fault.ts';
import type { FaultParts } from './apply-fault.ts';

/**
 * Lets calls go wrong as `/_faults` asks, in front of the endpoints, which know nothing of it. The form of a token
 * request has been read. Rejects with StoreUnavailableError where Redis is away.
 */
export function injectFaults(faults: FaultStore, parts: FaultParts, log: Logger): RequestHandler {
  return async (req, res, next) => {
    const route = toFaultRoute(req);
    const fault = route && (await faults.take(route, (one) => concerns(one, route, req)));
    if (fault === undefined) {
      next();
      return;
    }
    log.warn({ requestId: requestId(res), route, fault: fault.kind }, 'fault');
    if (!(await passes(fault.latencyMs, req))) return;
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

/** Whether the fault can be one of this call: `any` is set for routes on which it means nothing as well. */
function concerns({ kind }: Fault, route: FaultRoute, req: Request): boolean {
  if (!isKindOf(route, kind)) return false;
  if (kind === 'next-expired') return toQuery(req).has('next');
  if (kind === 'access-token-revoked') return bearerTokenOf(req) !== undefined;
  return kind !== 'grant-revoked' || hasGrant(req);
}

/** Whether the call carries something that a grant stands behind: a token or, to the token endpoint, a code. */
function hasGrant(req: Request): boolean {
  const form = toFormFields(req.body);
  return (
    bearerTokenOf(req) !== undefined || form?.has('refresh_token') === true || form?.has('code') === true
  );
}

/** Waits; resolves to false where the caller didn't. */
async function passes(ms: number, { socket }: Request): Promise<boolean> {
  if (ms === 0) return true;
  // Whoever has gone while the fault was looked up is heard no more; an answer in a pipeline is not told at all.
  if (socket.destroyed) return false;
  const gone = new AbortController();
  const leave = () => gone.abort();
  socket.once('close', leave);
  const stayed = await delay(ms, true, { signal: gone.signal }).catch(() => false);
  socket.off('close', leave);
  return stayed;
}
