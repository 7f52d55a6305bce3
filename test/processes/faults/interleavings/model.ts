import type { TestSession } from '../../../support/fleet/fleet.ts';

/** Access tokens of the service live this long. */
export const LIFETIME_MS = 900_000;

/** Where a request stands: before the service hears of it, or with its response made. */
export const GATES = ['token question', 'token response', 'api question', 'api response'] as const;
export type GateName = (typeof GATES)[number];

/** What may be said of one session. */
export interface SessionModel {
  readonly user: string;
  readonly entered: TestSession;
  /**
   * `alive`: nobody has ended it, and no response may say otherwise. `unsure`: something has happened after which its
   * next use may end it. `ended`: it is over for every call that begins after `endedAt`.
   */
  fate: 'alive' | 'unsure' | 'ended';
  /** The service has revoked the grant: it can't be served any more, and its next use must end it. */
  isDoomed: boolean;
  endedAt: number;
  /** When there was last a reason to renew it: one expiry, or one revoked access token, is one renewal. */
  dueAt: number;
  /** How often an access token of it was revoked. */
  revocations: number;
}

/** What the commands know: nothing of how Cloakroom does what it does. */
export interface Model {
  readonly sessions: SessionModel[];
  readonly held: Set<GateName>;
  /** The place of the process that stands still. */
  stopped: number | null;
  tokenEndpointFails: boolean;
  /** How far the clocks of Cloakroom's processes are ahead of the machine's. */
  aheadMs: number;
  /** Counts on with each question: what comes later has a larger number. */
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

export function toSessionModel(user: string, entered: TestSession): SessionModel {
  return {
    user,
    entered,
    fate: 'alive',
    isDoomed: false,
    endedAt: Infinity,
    dueAt: -Infinity,
    revocations: 0,
  };
}

/** Something has happened that may end it. */
export function markUnsure(session: SessionModel): void {
  if (session.fate === 'alive') session.fate = 'unsure';
}

/** Its access token has become worth nothing, or soon will. */
export function markDue(model: Model, session: SessionModel): void {
  session.dueAt = model.moment();
}

/** From now on it is over. */
export function markEnded(model: Model, session: SessionModel): void {
  session.fate = 'ended';
  session.endedAt = Math.min(session.endedAt, model.moment());
}
