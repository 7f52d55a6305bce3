import type { ServerResponse } from 'node:http';
import type { Grant } from '../../../../src/session/record.ts';
import { markUnsure, type Model, type SessionModel } from './model.ts';

/** One refresh token that came to the token endpoint, and what became of it. */
interface Presentation {
  readonly session: SessionModel;
  /** The process id of who asked. */
  readonly by: number;
  readonly refreshToken: string;
  readonly began: number;
  /** `given up`: whoever asked had gone before the response left. */
  outcome: 'asking' | 'refreshed' | 'refused' | 'failed' | 'given up';
  /** The access token that came of it. */
  accessToken: string | undefined;
  /** Its process was killed or stood still before it could store the response: the next one can't but present the token again. */
  isExcused: boolean;
}

/** Cloakroom refreshes a token that lives no longer than this (REFRESH_AHEAD_SECONDS), in ms. */
const AHEAD_MS = 60_000;

/** The service's side of the model: which tokens were presented when, and whether they may be. */
export interface TokenLedger {
  /** A session begins with these tokens. */
  begins(session: SessionModel, grant: Grant): void;
  /** A refresh token has come. */
  present(refreshToken: string, res: ServerResponse, by: number): Presentation;
  /** A process stands still, with what it has asked for and not stored. */
  standsStill(by: number): Promise<void>;
  /** Judges whether what stands in a session's record has undone a newer write. */
  checkStored(session: SessionModel): Promise<void>;
  /** Judges whether there is any need for it, while what it shall replace still stands. */
  checkNeed(presentation: Presentation): Promise<void>;
  /** The token endpoint's response leaves. */
  response(presentation: Presentation, status: number, body: string): void;
  /** An access token has come with a call. */
  use(accessToken: string): void;
  /** The last presentation of a session. */
  latest(session: SessionModel): Presentation | undefined;
  /** Whether any refresh waits for its response. */
  isBusy(): boolean;
  /** When the token endpoint last failed for a session, by performance.now(). */
  failedAt(session: SessionModel): number;
}

export function createTokenLedger(options: {
  readonly model: Model;
  readonly rotates: boolean;
  readonly report: (why: string) => void;
  /** Whether any process has been killed. */
  readonly hasKilled: () => boolean;
  /** Whether a process stands still. */
  readonly isStopped: (pid: number) => boolean;
  /** What stands in a session's record now; null where that has ended. */
  readonly standing: (session: SessionModel) => Promise<Grant | null>;
}): TokenLedger {
  const { model, rotates, report } = options;
  const owners = new Map<string, SessionModel>();
  /** Tokens that came after their session had ended: to be dropped. */
  const late = new Set<string>();
  const failures = new Map<SessionModel, number>();
  const presentations: Presentation[] = [];
  /** The number of the newest presentation whose tokens were seen in a session's record. */
  const newest = new Map<SessionModel, number>();

  const latest = (session: SessionModel) =>
    presentations.findLast((presentation) => presentation.session === session);

  const checkResponse = ({ session, refreshToken }: Presentation) => {
    const reportOf = (what: string) => report(`${session.user}'s ${what}`);
    if (late.has(refreshToken)) reportOf('refresh token was to be dropped, but is presented');
    for (const before of presentations.filter((other) => other.session === session)) {
      const isSame = before.refreshToken === refreshToken;
      if (before.isExcused && isSame && rotates) markUnsure(session);
      if (before.isExcused) continue;
      if (before.outcome === 'asking') reportOf('grant is refreshed twice at once');
      if (before.outcome !== 'refreshed') continue;
      if (rotates && isSame) reportOf('refresh token is presented twice');
    }
  };

  /**
   * A refresh that began before the clocks moved and came to the service after that brings a token that is expired already, however
   * long it was on its way: it is the record that tells.
   */
  const hasRunOut = ({ expiresAt }: Grant) => expiresAt - (Date.now() + model.aheadMs) <= AHEAD_MS;

  const giveUp = (presentation: Presentation) => {
    if (!options.hasKilled()) report(`a refresh of ${presentation.session.user}'s was given up`);
    presentation.outcome = 'given up';
    // The service has used the token up, or will: nobody gets what it gives for it.
    if (rotates) markUnsure(presentation.session);
  };

  return {
    begins: (session, { refreshToken = '' }) => void owners.set(refreshToken, session),
    present(refreshToken, res, by) {
      const session = owners.get(refreshToken);
      if (session === undefined) throw new Error('a refresh token came that was never given out');
      const presentation: Presentation = {
        session,
        by,
        refreshToken,
        began: model.moment(),
        outcome: 'asking',
        accessToken: undefined,
        isExcused: options.isStopped(by), // it had left before
      };
      checkResponse(presentation);
      presentations.push(presentation);
      res.once('close', () => !res.writableEnded && giveUp(presentation));
      return presentation;
    },
    async standsStill(by) {
      for (const presentation of presentations.filter((each) => each.by === by)) {
        const { session, outcome, accessToken } = presentation;
        if (outcome === 'asking') presentation.isExcused = true;
        if (outcome !== 'refreshed' || latest(session) !== presentation) continue;
        if ((await options.standing(session))?.accessToken !== accessToken) presentation.isExcused = true;
      }
    },
    async checkStored(session) {
      const grant = await options.standing(session);
      if (grant === null) return;
      const standing = presentations.findIndex(({ accessToken }) => accessToken === grant.accessToken);
      const before = newest.get(session) ?? -1;
      if (standing < before) report(`${session.user}'s newer tokens are overwritten by older ones`);
      newest.set(session, Math.max(before, standing));
    },
    async checkNeed({ session, began }) {
      const isMet = presentations.some(
        (before) =>
          before.session === session &&
          before.began < began &&
          before.began > session.dueAt &&
          before.outcome === 'refreshed' &&
          !before.isExcused,
      );
      if (!isMet) return;
      const grant = await options.standing(session);
      if (grant !== null && !hasRunOut(grant)) report(`${session.user}'s grant is refreshed without need`);
    },
    response(presentation, status, body) {
      const { session, outcome } = presentation;
      if (outcome === 'given up') return;
      if (status === 200) {
        const { access_token, refresh_token } = JSON.parse(body) as Record<string, string | undefined>;
        presentation.outcome = 'refreshed';
        presentation.accessToken = access_token;
        if (refresh_token !== undefined) owners.set(refresh_token, session);
        if (session.fate !== 'ended') return;
        for (const token of [access_token, refresh_token]) if (token !== undefined) late.add(token);
      } else if (status === 400) {
        presentation.outcome = 'refused';
        if (session.fate === 'alive') report(`${session.user}'s refresh token is worth nothing any more`);
      } else {
        presentation.outcome = 'failed';
        failures.set(session, performance.now());
      }
    },
    use(accessToken) {
      if (late.has(accessToken)) report('an access token was to be dropped, but is used');
    },
    latest,
    isBusy: () => presentations.some(({ outcome }) => outcome === 'asking'),
    failedAt: (session) => failures.get(session) ?? -Infinity,
  };
}
