import type { FleetResponse, RequestOptions } from '../../../support/fleet/requests.ts';
import { ME_PATH } from '../../../support/fleet/service.ts';
import { markEnded, type Model, type SessionModel } from './model.ts';

/** Ways to use a session; a page that fails says why as JSON. */
export const QUESTIONS = {
  api: { path: ME_PATH, headers: {} },
  page: { path: '/workspaces', headers: { accept: 'application/json' } },
  status: { path: '/auth/session', headers: {} },
} as const satisfies Record<string, RequestOptions>;
export type Question = keyof typeof QUESTIONS;

/** One call, and what was known when it began. */
export interface CallMade {
  readonly session: SessionModel;
  readonly question: Question;
  readonly began: number;
  readonly revocationsBefore: number;
  /** Whether the process that it went to was killed. */
  readonly isKilled: () => boolean;
  /** Whether it has stood still meanwhile: then Redis may have said nothing in time. */
  readonly stoodStill: () => boolean;
  /** Whether the token endpoint has failed for its session during the call or just before. */
  readonly sawFailure: () => boolean;
}

/** Moves the model on by what the response shows; gives a complaint where that is not allowed. */
export function judge(model: Model, call: CallMade, response: FleetResponse): string | null {
  const { session } = call;
  const outcome = toOutcome(call.question, response);
  const complaint = (why: string) => `${session.user}'s ${call.question} call: ${outcome}, ${why}`;
  if (response.headers['set-cookie'] !== undefined) return complaint('and sets a cookie');
  if (outcome === 'broken off') return call.isKilled() ? null : complaint('but its process lives');
  if (session.endedAt < call.began) {
    return outcome === 'refused' ? null : complaint('though it began after the session’s end');
  }
  switch (outcome) {
    case 'served':
      return isOwn(call, response) ? null : complaint(`but with the response of another: ${response.body}`);
    case 'refused':
      if (session.fate === 'alive') return complaint('though nobody has ended the session');
      markEnded(model, session);
      return null;
    case 'refused by the service': {
      // By contract the second 401 to one call is passed on: a token was revoked while the call was under way, or the
      // whole grant while new tokens of it were on their way.
      const isSecond = session.revocations > call.revocationsBefore;
      return isSecond || session.isDoomed
        ? null
        : complaint('though its token was not revoked since it began');
    }
    case 'no token':
      return call.sawFailure() ? null : complaint('though the token endpoint has not failed');
    case '503 session_store_unavailable':
      return call.stoodStill() ? null : complaint('though Redis is there');
    default:
      return complaint('which is never allowed');
  }
}

function toOutcome(question: Question, { status, code, body, headers }: FleetResponse): string {
  if (status === 0) return 'broken off';
  if (status === 401 && code === 'session_expired') return 'refused';
  if (status === 303 && String(headers['location']).startsWith('/auth/login')) return 'refused';
  if (status === 401 && code === undefined) return 'refused by the service';
  if (code === 'service_refuses_sign_in') return 'refused by the service';
  if (status === 503 && code === 'token_endpoint_unavailable') return 'no token';
  if (status !== 200) return `${status} ${code ?? ''}`;
  return question === 'status' && JSON.parse(body).signedIn !== true ? 'refused' : 'served';
}

/** Every session here is of another user. */
function isOwn({ session, question }: CallMade, { body }: FleetResponse): boolean {
  return question !== 'api' || JSON.parse(body).user === session.user;
}
