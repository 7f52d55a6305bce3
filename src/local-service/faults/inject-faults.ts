import { setTimeout as delay } from 'node:timers/promises';
import type { Request, RequestHandler, Response } from 'express';
import type { Logger } from '../../observability/logger.ts';
import { requestId } from '../../http/request-context.ts';
import { bearerTokenOf } from '../bearer-token.ts';
import { readFormBody } from '../form-body.ts';
import { isKindOf } from './fault.ts';
import type { Fault, FaultRoute } from './fault.ts';
import type { FaultStore } from './fault-store.ts';
import { toQuery } from '../request-query.ts';
import { API_PATH, AUTHORIZATION_PATH, TOKEN_PATH } from '../service-paths.ts';
import { applyFault, findGrant } from './apply-fault.ts';
import type { FaultParts } from './apply-fault.ts';

/**
 * Lets calls go wrong as `/_faults` asks, in front of the endpoints, which know nothing of it. Rejects with
 * StoreUnavailableError where Redis is away, and where a form can't be read that a fault needs.
 */
export function injectFaults(faults: FaultStore, parts: FaultParts, log: Logger): RequestHandler {
  return async (req, res, next) => {
    const route = toFaultRoute(req);
    const fault = route && (await faults.take(route, (one) => concerns(one, route, { req, res }, parts)));
    if (fault === undefined) {
      next();
      return;
    }
    log.warn({ requestId: requestId(res), route, fault: fault.kind }, 'fault');
    if (!(await passes(fault.latencyMs, req))) return;
    if (await applyFault(fault, req, res, parts)) next();
  };
}

interface Call {
  readonly req: Request;
  readonly res: Response;
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
async function concerns(fault: Fault, route: FaultRoute, call: Call, parts: FaultParts): Promise<boolean> {
  const { kind } = fault;
  if (!isKindOf(route, kind)) return false;
  if (kind === 'next-expired') return toQuery(call.req).has('next');
  if (kind === 'access-token-revoked') {
    return (await parts.accessTokens.grantOf(bearerTokenOf(call.req) ?? '')) !== undefined;
  }
  if (kind !== 'grant-revoked') return true;
  if (route === 'token') await readForm(call);
  return (await findGrant(call.req, parts)) !== undefined;
}

const readBody = readFormBody();

/** Reads the body before the endpoint would, which then finds it read. */
async function readForm({ req, res }: Call): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    readBody(req, res, (error?: unknown) => {
      if (error === undefined) resolve();
      else reject(error instanceof Error ? error : new Error('the form can’t be read'));
    });
  });
}

/** Waits; resolves to false where the caller didn't. */
async function passes(ms: number, { socket }: Request): Promise<boolean> {
  if (ms === 0) return true;
  // Whoever has gone while the fault was looked up is heard no more; an answer in a pipeline is not told at all.
  if (socket.destroyed) return false;
  const gone = new AbortController();
  const leave = () => gone.abort();
  socket.setMaxListeners(0); // a pipeline may hold any number of calls
  socket.once('close', leave);
  const stayed = await delay(ms, true, { signal: gone.signal }).catch(() => false);
  socket.off('close', leave);
  return stayed;
}
