import type { ServerResponse } from 'node:http';
import type { Grant } from '../../../../src/session/record.ts';
import { markUncertain, type Model, type SessionModel } from './model.ts';

/** A presentation of a refresh token at the token endpoint, with its outcome. */
interface Presentation {
  readonly session: SessionModel;
  /** The id of the process that sent the token. */
  readonly pid: number;
  readonly refreshToken: string;
  readonly at: number;
  /** `abandoned` means that the connection closed before the response. */
  outcome: 'pending' | 'refreshed' | 'refused' | 'failed' | 'abandoned';
  accessToken: string | undefined;
  /** Whether another process may present the token again, because the first was killed or stopped before it stored the response. */
  mayRepeat: boolean;
}

/** The default value of REFRESH_AHEAD_SECONDS, in ms. */
const AHEAD_MS = 60_000;

export type TokenLedger = ReturnType<typeof createTokenLedger>;

/** Creates a ledger that records each presented token and checks whether the token may be presented. */
export function createTokenLedger(options: {
  readonly model: Model;
  readonly rotates: boolean;
  readonly report: (violation: string) => void;
  /** Returns whether any process has been killed. */
  readonly hasKilled: () => boolean;
  readonly isStopped: (pid: number) => boolean;
  /** Resolves with the current grant in the session record, or null if the session has ended. */
  readonly storedGrant: (session: SessionModel) => Promise<Grant | null>;
}) {
  const { model, rotates, report, storedGrant } = options;
  const owners = new Map<string, SessionModel>();
  /** Tokens that were issued after the end of their session, and that no process may use. */
  const late = new Set<string>();
  const failures = new Map<SessionModel, number>();
  const presentations: Presentation[] = [];
  /** The index of the newest presentation whose tokens were seen in a session record. */
  const newest = new Map<SessionModel, number>();

  const latest = (session: SessionModel) =>
    presentations.findLast((presentation) => presentation.session === session);

  const checkPresentation = ({ session, refreshToken }: Presentation) => {
    const reportOf = (what: string) => report(`${session.user}'s ${what}`);
    if (late.has(refreshToken)) reportOf('refresh token, issued after the session ended, is used');
    for (const before of presentations.filter((other) => other.session === session)) {
      const isSame = before.refreshToken === refreshToken;
      if (before.mayRepeat && isSame && rotates) markUncertain(session);
      if (before.mayRepeat) continue;
      if (before.outcome === 'pending') reportOf('grant is refreshed twice simultaneously');
      if (before.outcome === 'refreshed' && rotates && isSame) reportOf('refresh token is presented twice');
    }
  };

  /**
   * A token request may be sent before the clocks move but reach the service afterwards. Cloakroom then stores the new token
   * as expired or about to expire.
   */
  const isExpiring = ({ expiresAt }: Grant) => expiresAt - (Date.now() + model.aheadMs) <= AHEAD_MS;

  const abandon = (presentation: Presentation) => {
    if (!options.hasKilled()) report(`a refresh for ${presentation.session.user} was abandoned`);
    presentation.outcome = 'abandoned';
    // The service has consumed the refresh token or will consume it, but no process receives the new token.
    if (rotates) markUncertain(presentation.session);
  };

  return {
    latest,
    /** Returns whether any token request is waiting for its response. */
    isBusy: () => presentations.some(({ outcome }) => outcome === 'pending'),
    /** Returns the time (performance.now()) at which the token endpoint last failed for a session. */
    failedAt: (session: SessionModel) => failures.get(session) ?? -Infinity,

    addSession: (session: SessionModel, { refreshToken = '' }: Grant) =>
      void owners.set(refreshToken, session),

    addTokenRequest(refreshToken: string, res: ServerResponse, pid: number): Presentation {
      const session = owners.get(refreshToken);
      if (session === undefined) throw new Error('the service has not issued this refresh token');
      const presentation: Presentation = {
        session,
        pid,
        refreshToken,
        at: model.tick(),
        outcome: 'pending',
        accessToken: undefined,
        mayRepeat: options.isStopped(pid), // sent before the process was stopped
      };
      checkPresentation(presentation);
      presentations.push(presentation);
      res.once('close', () => !res.writableEnded && abandon(presentation));
      return presentation;
    },

    /** Reports a token request that is unnecessary because the session record holds usable tokens from an earlier request. */
    async checkNeed({ session, at }: Presentation): Promise<void> {
      const isMet = presentations.some(
        (before) =>
          before.session === session &&
          before.at < at &&
          before.at > session.refreshDueAt &&
          before.outcome === 'refreshed' &&
          !before.mayRepeat,
      );
      if (!isMet) return;
      const grant = await storedGrant(session);
      if (grant !== null && !isExpiring(grant)) report(`${session.user}'s grant is refreshed unnecessarily`);
    },

    addResponse(presentation: Presentation, status: number, body: string): void {
      const { session, outcome } = presentation;
      if (outcome === 'abandoned') return;
      if (status === 200) {
        const { access_token, refresh_token } = JSON.parse(body) as Record<string, string | undefined>;
        presentation.outcome = 'refreshed';
        presentation.accessToken = access_token;
        if (refresh_token !== undefined) owners.set(refresh_token, session);
        if (session.state !== 'ended') return;
        for (const token of [access_token, refresh_token]) if (token !== undefined) late.add(token);
      } else if (status === 400) {
        presentation.outcome = 'refused';
        if (session.state === 'active') report(`${session.user}'s refresh token is refused`);
      } else {
        presentation.outcome = 'failed';
        failures.set(session, performance.now());
      }
    },

    checkAccessToken(accessToken: string): void {
      if (late.has(accessToken)) report('an access token issued after the end of its session is used');
    },

    /** Records that a process was stopped before it could store the tokens that it had requested. */
    async recordStop(pid: number): Promise<void> {
      for (const presentation of presentations.filter((each) => each.pid === pid)) {
        const { session, outcome, accessToken } = presentation;
        if (outcome === 'pending') presentation.mayRepeat = true;
        if (outcome !== 'refreshed' || latest(session) !== presentation) continue;
        if ((await storedGrant(session))?.accessToken !== accessToken) presentation.mayRepeat = true;
      }
    },

    /** Reports a session whose record holds older tokens than before. */
    async checkStored(session: SessionModel): Promise<void> {
      const grant = await storedGrant(session);
      if (grant === null) return;
      const stored = presentations.findIndex(({ accessToken }) => accessToken === grant.accessToken);
      const before = newest.get(session) ?? -1;
      if (stored < before) report(`${session.user}'s newer tokens are overwritten by older ones`);
      newest.set(session, Math.max(before, stored));
    },
  };
}
