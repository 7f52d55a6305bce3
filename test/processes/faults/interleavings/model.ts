import type { FleetResponse, RequestOptions } from '../../../support/fleet/requests.ts';
import { ME_PATH } from '../../../support/fleet/service.ts';
import type { TestSession } from '../../../support/fleet/fleet.ts';

/** The lifetime of the service's access tokens. */
export const LIFETIME_MS = 900_000;

/** Points at which a request to the service can be held: before the service handles it, or once its response is ready. */
export const BARRIERS = ['token request', 'token response', 'api request', 'api response'] as const;
/** `lock reply`: the reply from Redis that confirms the lock, before the token request. */
export type BarrierName = (typeof BARRIERS)[number] | 'lock reply';

/** The state of one session in the model. */
export interface SessionModel {
  readonly user: string;
  readonly stored: TestSession;
  /**
   * `active`: no response may report that it has ended. `uncertain`: its next use may end it. `ended`: every request that starts
   * after `endedAt` must be refused.
   */
  state: 'active' | 'uncertain' | 'ended';
  /** The service has revoked the grant: the next use must end the session. */
  isRevoked: boolean;
  endedAt: number;
  /** The time at which a refresh was last needed. Each expiry and each revoked access token justifies one refresh. */
  refreshDueAt: number;
  /** How often an access token of this session was revoked. */
  revocations: number;
}

/** The state that commands change. It does not depend on the implementation. */
export interface Model {
  readonly sessions: SessionModel[];
  readonly held: Set<BarrierName>;
  /** The index of the stopped process. */
  stopped: number | null;
  tokenEndpointFails: boolean;
  /** How far the clocks of the Cloakroom processes are ahead of the machine's clock. */
  aheadMs: number;
  /** A logical clock: each call returns a larger number. */
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

/** Requests that use a session. An error page gives its reason as JSON. */
export const REQUESTS = {
  api: { path: ME_PATH, headers: {} },
  page: { path: '/workspaces', headers: { accept: 'application/json' } },
  status: { path: '/auth/session', headers: {} },
} as const satisfies Record<string, RequestOptions>;
export type RequestKind = keyof typeof REQUESTS;

/** A request, with the state of the model when it started. */
export interface SentRequest {
  readonly session: SessionModel;
  readonly kind: RequestKind;
  readonly startedAt: number;
  readonly revocationsBefore: number;
  /** Whether its process was killed. */
  readonly wasKilled: () => boolean;
  /** Whether its process was stopped meanwhile. If so, a reply from Redis may have timed out. */
  readonly wasStopped: () => boolean;
  /** Whether the token endpoint failed for its session during the request or just before. */
  readonly sawFailure: () => boolean;
}

/** Updates the model with a response. Returns a violation if the model does not allow it. */
export function checkResponse(model: Model, request: SentRequest, response: FleetResponse): string | null {
  const { session } = request;
  const outcome = toOutcome(request.kind, response);
  const allow = (isAllowed: boolean, why: string) =>
    isAllowed ? null : `${session.user}'s ${request.kind} request: ${outcome}, ${why}`;
  if (response.headers['set-cookie'] !== undefined) return allow(false, 'and sets a cookie');
  if (outcome === 'aborted') return allow(request.wasKilled(), 'but its process runs');
  if (session.endedAt < request.startedAt)
    return allow(outcome === 'refused', 'though it started after the end of the session');
  switch (outcome) {
    case 'served':
      return allow(isOwn(request, response), `but with the response of another: ${response.body}`);
    case 'refused':
      if (session.state === 'active') return allow(false, 'though the session has not ended');
      markEnded(model, session);
      return null;
    case 'refused by the service':
      // The gateway passes on a second 401 for the same request. That happens only if the token is revoked during the request, or
      // the grant during its refresh.
      return allow(
        session.revocations > request.revocationsBefore || session.isRevoked,
        'though its token was not revoked since it started',
      );
    case 'no token':
      return allow(request.sawFailure(), 'though the token endpoint has not failed');
    case '503 session_store_unavailable':
      return allow(request.wasStopped(), 'though Redis runs');
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
