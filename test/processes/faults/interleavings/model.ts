import type { FleetResponse, RequestOptions } from '../../../support/fleet/requests.ts';
import { ME_PATH } from '../../../support/fleet/service.ts';
import type { TestSession } from '../../../support/fleet/fleet.ts';

/** The lifetime of the service's access tokens. */
export const LIFETIME_MS = 900_000;

/** Points at which a request to the service can be held: before the service handles it, or once its response is ready. */
export const BARRIERS = ['token request', 'token response', 'api request', 'api response'] as const;
/** `lock reply` is the reply from Redis that confirms the lock, before the token request. */
export type BarrierName = (typeof BARRIERS)[number] | 'lock reply';

/** The state of one session in the model. */
export interface SessionModel {
  readonly user: string;
  readonly stored: TestSession;
  /**
   * `active`: no response may report that the session has ended. `uncertain`: the next use may end the session. `ended`: every
   * request that starts after `endedAt` must be refused.
   */
  state: 'active' | 'uncertain' | 'ended';
  /** Whether the service has revoked the grant, in which case the next use must end the session. */
  isRevoked: boolean;
  endedAt: number;
  /** The time at which a refresh last became due. Each expiry and each revoked access token justifies one refresh. */
  refreshDueAt: number;
  /** The number of times that an access token of this session was revoked. */
  revocations: number;
}

/** The state that commands change, independent of the implementation. */
export interface Model {
  readonly sessions: SessionModel[];
  readonly held: Set<BarrierName>;
  /** The index of the stopped process. */
  stopped: number | null;
  tokenEndpointFails: boolean;
  /** How far the clocks of the Cloakroom processes are ahead of the machine's clock. */
  aheadMs: number;
  /** A logical clock that returns a larger number on each call. */
  tick(): number;
}

export function createModel(): Model {
  let ticks = 0;
  return {
    sessions: [],
    held: new Set(),
    stopped: null,
    tokenEndpointFails: false,
    aheadMs: 0,
    tick: () => (ticks += 1),
  };
}

/** Records an event that may end the session. */
export function markUncertain(session: SessionModel): void {
  if (session.state === 'active') session.state = 'uncertain';
}

/** Records that the access token has expired, is about to expire, or was revoked. */
export function markRefreshDue(model: Model, session: SessionModel): void {
  session.refreshDueAt = model.tick();
}

export function markEnded(model: Model, session: SessionModel): void {
  session.state = 'ended';
  session.endedAt = Math.min(session.endedAt, model.tick());
}

/** Requests that use a session. The page request accepts JSON, so that its errors have a code. */
export const REQUESTS = {
  api: { path: ME_PATH, headers: {} },
  page: { path: '/workspaces', headers: { accept: 'application/json' } },
  status: { path: '/auth/session', headers: {} },
} as const satisfies Record<string, RequestOptions>;
export type RequestKind = keyof typeof REQUESTS;

/** A request, with the state of the model at its start. */
export interface SentRequest {
  readonly session: SessionModel;
  readonly kind: RequestKind;
  readonly startedAt: number;
  readonly revocationsBefore: number;
  /** Returns whether the receiving process was killed. */
  readonly wasKilled: () => boolean;
  /** Returns whether the receiving process was stopped during the request, in which case a Redis reply may have timed out. */
  readonly wasStopped: () => boolean;
  /** Returns whether the token endpoint failed for the session during the request or shortly before. */
  readonly sawFailure: () => boolean;
}

/** Updates the model with a response. Returns a violation if the model does not allow the response. */
export function checkResponse(model: Model, request: SentRequest, response: FleetResponse): string | null {
  const { session } = request;
  const outcome = toOutcome(request.kind, response);
  const allow = (isAllowed: boolean, why: string) =>
    isAllowed ? null : `${session.user}'s ${request.kind} request: ${outcome}, ${why}`;
  if (response.headers['set-cookie'] !== undefined) return allow(false, 'and sets a cookie');
  if (outcome === 'aborted') return allow(request.wasKilled(), 'but its process is running');
  if (session.endedAt < request.startedAt)
    return allow(outcome === 'refused', 'though it started after the end of the session');
  switch (outcome) {
    case 'served':
      return allow(isOwn(request, response), `but with another user's response: ${response.body}`);
    case 'refused':
      if (session.state === 'active') return allow(false, 'though the session has not ended');
      markEnded(model, session);
      return null;
    case 'refused by the service':
      // The gateway passes on a second 401 for the same request. A second 401 is allowed only if the token was revoked
      // during the request, or the grant has been revoked.
      return allow(
        session.revocations > request.revocationsBefore || session.isRevoked,
        'though its token was not revoked during the request',
      );
    case 'no token':
      return allow(request.sawFailure(), 'though the token endpoint has not failed');
    case '503 session_store_unavailable':
      return allow(request.wasStopped(), 'though Redis is running');
    default:
      return allow(false, 'which is never allowed');
  }
}

function toOutcome(kind: RequestKind, { status, code, body, headers }: FleetResponse): string {
  if (status === 0) return 'aborted';
  if (status === 401 && code === 'session_expired') return 'refused';
  if (status === 303 && String(headers['location']).startsWith('/auth/login')) return 'refused';
  if (status === 401 && code === undefined) return 'refused by the service';
  if (code === 'service_refuses_sign_in') return 'refused by the service';
  if (status === 503 && code === 'token_endpoint_unavailable') return 'no token';
  if (status !== 200) return `${status} ${code ?? ''}`;
  return kind === 'status' && JSON.parse(body).signedIn !== true ? 'refused' : 'served';
}

/** Returns whether the response is for the user of the session. Each session has a different user. */
function isOwn({ session, kind }: SentRequest, { body }: FleetResponse): boolean {
  return kind !== 'api' || JSON.parse(body).user === session.user;
}
