import type { FleetResponse, RequestOptions } from '../../../support/fleet/requests.ts';
import { ME_PATH } from '../../../support/fleet/service.ts';
import type { TestSession } from '../../../support/fleet/fleet.ts';

/** Lifetime of the service's access tokens. */
export const LIFETIME_MS = 900_000;

/** Where a request to the service can be held: before the service handles it, or with its response ready. */
export const BARRIERS = ['token request', 'token response', 'api request', 'api response'] as const;
/** `lock reply`: the reply of Redis that confirms the lock, before the token request. */
export type BarrierName = (typeof BARRIERS)[number] | 'lock reply';

/** What the model knows of one session. */
export interface SessionModel {
  readonly user: string;
  readonly stored: TestSession;
  /**
   * `active`: no response may say that it has ended. `uncertain`: its next use may end it. `ended`: every request that starts
   * after `endedAt` must be refused.
   */
  state: 'active' | 'uncertain' | 'ended';
  /** The service has revoked the grant: the next use must end the session. */
  isRevoked: boolean;
  endedAt: number;
  /** When there was last a reason to refresh it. Each expiry and each revoked access token is a reason for one refresh. */
  dueAt: number;
  /** How often an access token of it was revoked. */
  revocations: number;
}

/** The state that commands change. It does not depend on the implementation. */
export interface Model {
  readonly sessions: SessionModel[];
  readonly held: Set<BarrierName>;
  /** The index of the stopped process. */
  stopped: number | null;
  tokenEndpointFails: boolean;
  /** How far the clocks of Cloakroom's processes are ahead of the machine's. */
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

/** Something has happened that may end the session. */
export function markUncertain(session: SessionModel): void {
  if (session.state === 'active') session.state = 'uncertain';
}

/** The access token has expired, is expiring or was revoked. */
export function markDue(model: Model, session: SessionModel): void {
  session.dueAt = model.tick();
}

export function markEnded(model: Model, session: SessionModel): void {
  session.state = 'ended';
  session.endedAt = Math.min(session.endedAt, model.tick());
}

/** Requests that use a session; a page that fails says why as JSON. */
export const REQUESTS = {
  api: { path: ME_PATH, headers: {} },
  page: { path: '/workspaces', headers: { accept: 'application/json' } },
  status: { path: '/auth/session', headers: {} },
} as const satisfies Record<string, RequestOptions>;
export type RequestKind = keyof typeof REQUESTS;

/** One request, and what was known when it started. */
export interface SentRequest {
  readonly session: SessionModel;
  readonly kind: RequestKind;
  readonly startedAt: number;
  readonly revocationsBefore: number;
  /** Whether its process was killed. */
  readonly wasKilled: () => boolean;
  /** Whether its process was stopped meanwhile: then Redis may not have replied in time. */
  readonly wasStopped: () => boolean;
  /** Whether the token endpoint failed for its session during the request or just before. */
  readonly sawFailure: () => boolean;
}

/** Updates the model by a response. Returns a violation where the model does not allow it. */
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
      // By contract the second 401 to one request is passed on: a token was revoked during the request, or the whole grant while
      // it was refreshed.
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

/** Each session has a user of its own. */
function isOwn({ session, kind }: SentRequest, { body }: FleetResponse): boolean {
  return kind !== 'api' || JSON.parse(body).user === session.user;
}
