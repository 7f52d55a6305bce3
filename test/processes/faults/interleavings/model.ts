import type { FleetResponse, RequestOptions } from '../../../support/fleet/requests.ts';
import { ME_PATH } from '../../../support/fleet/service.ts';
import type { TestSession } from '../../../support/fleet/fleet.ts';

/** Access tokens of the service live this long. */
export const LIFETIME_MS = 900_000;

/** Where a request stands: before the service hears of it, or with its response made. */
export const BARRIERS = ['token request', 'token response', 'api request', 'api response'] as const;
export type BarrierName = (typeof BARRIERS)[number];

/** What the model knows of one session. */
export interface SessionModel {
  readonly user: string;
  readonly stored: TestSession;
  /**
   * `alive`: no response may say that it has ended. `unsure`: its next use may end it. `ended`: every request that starts
   * after `endedAt` must be refused.
   */
  fate: 'alive' | 'unsure' | 'ended';
  /** The service has revoked the grant: the next use must end the session. */
  isRevoked: boolean;
  endedAt: number;
  /** When there was last a reason to refresh it: one expiry, or one revoked access token, is one refresh. */
  dueAt: number;
  /** How often an access token of it was revoked. */
  revocations: number;
}

/** The state that commands change. It does not depend on the implementation. */
export interface Model {
  readonly sessions: SessionModel[];
  readonly held: Set<BarrierName>;
  /** The slot of the stopped process. */
  stopped: number | null;
  tokenEndpointFails: boolean;
  /** How far the clocks of Cloakroom's processes are ahead of the machine's. */
  aheadMs: number;
  /** Counts on with each kind: what comes later has a larger number. */
  moment(): number;
}

export function createModel(): Model {
  let moments = 0;
  return {
    sessions: [],
    held: new Set(),
    stopped: null,
    tokenEndpointFails: false,
    aheadMs: 0,
    moment: () => (moments += 1),
  };
}

export function toSessionModel(user: string, stored: TestSession): SessionModel {
  return {
    user,
    stored,
    fate: 'alive',
    isRevoked: false,
    endedAt: Infinity,
    dueAt: -Infinity,
    revocations: 0,
  };
}

/** Something has happened that may end the session. */
export function markUnsure(session: SessionModel): void {
  if (session.fate === 'alive') session.fate = 'unsure';
}

/** The access token has expired or was revoked, or soon will be. */
export function markDue(model: Model, session: SessionModel): void {
  session.dueAt = model.moment();
}

/** The session has ended. */
export function markEnded(model: Model, session: SessionModel): void {
  session.fate = 'ended';
  session.endedAt = Math.min(session.endedAt, model.moment());
}

/** Ways to use a session; a page that fails says why as JSON. */
export const REQUESTS = {
  api: { path: ME_PATH, headers: {} },
  page: { path: '/workspaces', headers: { accept: 'application/json' } },
  status: { path: '/auth/session', headers: {} },
} as const satisfies Record<string, RequestOptions>;
export type RequestKind = keyof typeof REQUESTS;

/** One request, and what was known when it began. */
export interface SentRequest {
  readonly session: SessionModel;
  readonly kind: RequestKind;
  readonly began: number;
  readonly revocationsBefore: number;
  /** Whether the process that it went to was killed. */
  readonly isKilled: () => boolean;
  /** Whether it has stood still meanwhile: then Redis may have said nothing in time. */
  readonly stoodStill: () => boolean;
  /** Whether the token endpoint has failed for its session during the request or just before. */
  readonly sawFailure: () => boolean;
}

/** Updates the model by a response. Returns a violation where the model does not allow it. */
export function checkResponse(model: Model, request: SentRequest, response: FleetResponse): string | null {
  const { session } = request;
  const outcome = toOutcome(request.kind, response);
  const violation = (why: string) => `${session.user}'s ${request.kind} request: ${outcome}, ${why}`;
  if (response.headers['set-cookie'] !== undefined) return violation('and sets a cookie');
  if (outcome === 'broken off') return request.isKilled() ? null : violation('but its process lives');
  if (session.endedAt < request.began) {
    return outcome === 'refused' ? null : violation('though it began after the session’s end');
  }
  switch (outcome) {
    case 'served':
      return isOwn(request, response)
        ? null
        : violation(`but with the response of another: ${response.body}`);
    case 'refused':
      if (session.fate === 'alive') return violation('though nobody has ended the session');
      markEnded(model, session);
      return null;
    case 'refused by the service': {
      // By contract the second 401 to one request is passed on: a token was revoked while the request was under way, or the
      // whole grant while new tokens of it were on their way.
      const isSecond = session.revocations > request.revocationsBefore;
      return isSecond || session.isRevoked
        ? null
        : violation('though its token was not revoked since it began');
    }
    case 'no token':
      return request.sawFailure() ? null : violation('though the token endpoint has not failed');
    case '503 session_store_unavailable':
      return request.stoodStill() ? null : violation('though Redis is there');
    default:
      return violation('which is never allowed');
  }
}

function toOutcome(kind: RequestKind, { status, code, body, headers }: FleetResponse): string {
  if (status === 0) return 'broken off';
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
