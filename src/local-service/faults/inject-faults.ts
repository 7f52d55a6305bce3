import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Router, type ErrorRequestHandler, type Request, type Response } from 'express';
import { requestId } from '../../http/request-context.ts';
import type { Logger } from '../../observability/logger.ts';
import { API_PATH, bearerTokenOf } from '../api.ts';
import { AUTHORIZATION_PATH } from '../authorization-endpoint.ts';
import { ServiceError, sendApiError, type ErrorHandlers } from '../error-responses.ts';
import type { OAuthStore } from '../oauth-store.ts';
import { expiredCursor } from '../pagination.ts';
import { formFields, queryParameters, readForm } from '../request-parameters.ts';
import { TOKEN_PATH } from '../token-endpoint.ts';
import { hasEffectOn, type Fault, type FaultRoute } from './fault.ts';
import type { FaultStore } from './fault-store.ts';

const ROUTES: readonly (readonly [FaultRoute, RegExp, methods: readonly string[]])[] = [
  ['authorization', new RegExp(`^${AUTHORIZATION_PATH}$`), ['GET', 'HEAD', 'POST']],
  ['token', new RegExp(`^${TOKEN_PATH}$`), ['POST']],
  ['workspaces', new RegExp(`^${API_PATH}/workspaces$`), ['GET', 'HEAD']],
  ['workspace', new RegExp(`^${API_PATH}/workspaces/[^/]+$`), ['GET', 'HEAD']],
  ['rooms', new RegExp(`^${API_PATH}/workspaces/[^/]+/rooms$`), ['GET', 'HEAD']],
  ['murals', new RegExp(`^${API_PATH}/workspaces/[^/]+/murals$`), ['GET', 'HEAD']],
];

/**
 * Creates the router for LOCAL_SERVICE_FAULTS. The router runs before the endpoints, and applies the faults that were set at
 * `/_faults`. The endpoints are unaware of faults. While Redis is down, errors have the format that the endpoint uses.
 */
export function injectFaults(
  faults: FaultStore,
  store: OAuthStore,
  errors: ErrorHandlers,
  log: Logger,
  now: () => number,
): Router {
  const router = Router({ strict: true, caseSensitive: true });
  router.use(async (req, res, next) => {
    const route = routeOf(req);
    const fault = route && (await faults.take(route, (one) => appliesTo(one, route, req, res, store)));
    if (fault === undefined) {
      next();
      return;
    }
    log.warn({ requestId: requestId(res), route, fault: fault.kind }, 'fault injected');
    if (!(await waitFor(fault.latencyMs, req))) return;
    if (await applyFault(fault, req, res, store, now)) next();
  });
  const handleError: ErrorRequestHandler = (error, req, res, next) => {
    const kind = req.path === TOKEN_PATH ? 'token' : req.path === AUTHORIZATION_PATH ? 'page' : 'api';
    errors[kind](error, req, res, next);
  };
  router.use(handleError);
  return router;
}

function routeOf({ method, path }: Request): FaultRoute | undefined {
  return ROUTES.find(([, pattern, methods]) => methods.includes(method) && pattern.test(path))?.[0];
}

/** Returns whether the fault has any effect on this request. A fault set for `any` may have no effect on some routes. */
async function appliesTo(
  fault: Fault,
  route: FaultRoute,
  req: Request,
  res: Response,
  store: OAuthStore,
): Promise<boolean> {
  if (!hasEffectOn(route, fault.kind)) return false;
  if (fault.kind === 'next-expired') return queryParameters(req).has('next');
  if (fault.kind === 'access-token-revoked')
    return (await store.accessTokens.grantOf(bearerTokenOf(req) ?? '')) !== undefined;
  if (fault.kind !== 'grant-revoked') return true;
  if (route === 'token') await readFormNow(req, res);
  return (await findGrant(req, store)) !== undefined;
}

/** Reads the form before the endpoint does. The endpoint then reuses the parsed body. */
const readFormNow = promisify<Request, Response>(readForm());

/** Waits for `ms` milliseconds. Resolves to false as soon as the client disconnects. */
async function waitFor(ms: number, { socket }: Request): Promise<boolean> {
  if (ms === 0) return true;
  // The client may have disconnected during the fault lookup. Watch the socket, because Node emits `close` for only one of
  // several pipelined responses.
  if (socket.destroyed) return false;
  const disconnected = new AbortController();
  const abort = () => disconnected.abort();
  socket.setMaxListeners(0); // there may be any number of pipelined requests
  socket.once('close', abort);
  const isConnected = await delay(ms, true, { signal: disconnected.signal }).catch(() => false);
  socket.off('close', abort);
  return isConnected;
}

/**
 * Applies the fault, except for its latency. Resolves to true if the endpoint should still handle the request; otherwise this
 * function has responded or reset the connection.
 */
async function applyFault(
  fault: Fault,
  req: Request,
  res: Response,
  store: OAuthStore,
  now: () => number,
): Promise<boolean> {
  switch (fault.kind) {
    case 'latency':
      return true;
    case 'status':
      sendStatus(res, fault);
      return false;
    case 'rate-limit':
      sendApiError(res, rateLimitError(fault.retryAfter, now()));
      return false;
    case 'reset-before':
      resetConnection(res);
      return false;
    case 'reset-after':
      replaceResponse(res, () => resetConnection(res));
      return true;
    case 'cut':
      replaceResponse(res, (body) => sendHalf(res, body));
      return true;
    case 'access-token-revoked':
      await store.accessTokens.revoke(bearerTokenOf(req) ?? '');
      return true;
    case 'grant-revoked':
      await store.grants.revoke((await findGrant(req, store)) ?? '');
      return true;
    case 'next-expired':
      // Replace only a successful response, because the endpoint checks for other errors before checking for an expired cursor.
      replaceResponse(res, (body) => {
        if (res.statusCode === 200) sendApiError(res, expiredCursor());
        else res.end(body);
      });
      return true;
  }
}

/** Returns the id of the grant for a request's access token or, on the token endpoint, its refresh token or code. */
async function findGrant(
  req: Request,
  { accessTokens, refreshTokens, codes }: OAuthStore,
): Promise<string | undefined> {
  const form = formFields(req.body);
  return (
    (await accessTokens.grantOf(bearerTokenOf(req) ?? '')) ??
    (await refreshTokens.find(form?.get('refresh_token') ?? '')) ??
    (await codes.find(form?.get('code') ?? ''))?.grantId
  );
}

const CODES: Readonly<Record<number, string>> = {
  401: 'UNAUTHORIZED',
  403: 'INVALID_SCOPE',
  404: 'PATH_NOT_FOUND',
};

function sendStatus(res: Response, { status, body, contentType }: Fault & { readonly kind: 'status' }): void {
  if (body === undefined) {
    const code = status >= 500 ? 'INTERNAL_SERVER_ERROR' : (CODES[status] ?? 'REQUEST_INVALID');
    sendApiError(res, new ServiceError(status, code, 'This fault was set at /_faults'));
    return;
  }
  res.status(status).type(contentType ?? (isJson(body) ? 'application/json' : 'text/plain; charset=utf-8'));
  res.send(Buffer.from(body)); // for a string, Express would add a charset to the type
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Returns a 429 with the same headers as the public service sends, plus `Retry-After` (RFC 6585 §4). */
function rateLimitError(retryAfter: number, now: number): ServiceError {
  return new ServiceError(429, 'TOO_MANY_REQUESTS', `Try again in ${retryAfter} s`, {
    headers: {
      'retry-after': String(retryAfter),
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': String(Math.ceil(now / 1_000) + retryAfter),
    },
  });
}

/**
 * Calls `replace` with the complete body instead of sending it. Status and headers can still be changed. Works for responses
 * sent in a single call (`res.json`, `res.send`, `res.end` without a callback); throws if the response has already begun.
 */
function replaceResponse(res: Response, replace: (body: Buffer) => void): void {
  const end = res.end.bind(res);
  Object.assign(res, {
    end(chunk?: unknown, encoding?: unknown) {
      if (res.headersSent) throw new Error('This response has already begun and can no longer be replaced.');
      res.end = end;
      replace(toBuffer(chunk, encoding));
      return res;
    },
  });
}

function toBuffer(chunk: unknown, encoding: unknown): Buffer {
  if (Buffer.isBuffer(chunk)) return chunk;
  if (typeof chunk !== 'string') return Buffer.alloc(0);
  return Buffer.from(chunk, typeof encoding === 'string' && Buffer.isEncoding(encoding) ? encoding : 'utf8');
}

/** Ends the connection with a TCP reset, which also discards unsent data. */
function resetConnection(res: Response): void {
  res.req.socket.resetAndDestroy();
}

/** Sends the headers and half of the body, then closes the connection. If the body is too short, resets the connection. */
function sendHalf(res: Response, body: Buffer): void {
  const half = body.subarray(0, Math.floor(body.length / 2));
  if (half.length === 0) {
    resetConnection(res);
    return;
  }
  res.set('content-length', String(body.length));
  res.write(half, () => res.req.socket.destroySoon());
}
