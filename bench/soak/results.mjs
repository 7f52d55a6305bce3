import { NOT_RESENT } from './outcomes.mjs';

/** Records the outcome of every action and decides whether a fault explains the outcome. */

/**
 * A period in which a fault is active, or in which a process stalls.
 * @typedef {object} Window
 * @property {string} name
 * @property {ReadonlySet<string>} explains the outcomes that the window explains
 * @property {boolean} losesTokens whether the response with a refreshed token may have been lost
 * @property {boolean} isStall whether a process stalled; outcomes that only a stall explains are counted separately
 * @property {number} from a time from performance.now()
 * @property {number} to
 */
/**
 * An action whose outcome was not `ok`.
 * @typedef {object} Failure
 * @property {string} name
 * @property {string} outcome an outcome from outcomes.mjs
 * @property {number} startedAt a time from performance.now()
 * @property {number} endedAt
 */
/**
 * A session that ended although its user did not sign out.
 * @typedef {object} LostSession
 * @property {string} session the log id of the session
 * @property {string} action the action that found the session ended, and the outcome
 * @property {number} at a time from performance.now()
 */
/** @typedef {'explained' | 'stalled' | 'unexplained'} Verdict */

const MAX_EXAMPLES = 12;

export function createResults() {
  /** @type {Window[]} */
  const windows = [];
  /** @type {Failure[]} */
  const failures = [];
  /** Counts, keyed by action name. @type {Map<string, { all: number, ok: number }>} */
  const actions = new Map();
  /** @type {string[]} */
  const wrongLines = [];
  const startedAt = performance.now();
  const toSeconds = (/** @type {number} */ at) => `${((at - startedAt) / 1_000).toFixed(1)} s`;
  /** @param {number} at */
  const afterWindow = (at) => `after "${windows.findLast(({ from }) => from <= at)?.name ?? 'nothing'}"`;
  /** @type {(failure: Failure) => Verdict} */
  const verdictOf = (failure) => {
    if (failure.outcome === NOT_RESENT) return 'explained'; // needs no fault
    const reasons = windows.filter(
      ({ from, to, explains }) =>
        from <= failure.endedAt && to >= failure.startedAt && explains.has(failure.outcome),
    );
    if (reasons.some(({ isStall }) => !isStall)) return 'explained';
    return reasons.length > 0 ? 'stalled' : 'unexplained';
  };

  const results = {
    actions,
    /** @type {LostSession[]} */
    lostSessions: [],
    /** Responses with another user's data, altered responses, and responses for an ended session. @type {string[]} */
    wrongResponses: [],
    signIns: 0,
    signOuts: 0,
    /**
     * Opens a window. By default, the window begins now and has no end yet.
     * @param {string} name
     * @param {readonly string[]} explains
     * @param {{ from?: number, to?: number, losesTokens?: boolean | undefined, isStall?: boolean }} [more]
     * @returns {Window}
     */
    openWindow(
      name,
      explains,
      { from = performance.now(), to = Infinity, losesTokens = false, isStall = false } = {},
    ) {
      const window = { name, explains: new Set(explains), from, to, losesTokens, isStall };
      windows.push(window);
      return window;
    },
    /**
     * Records an action that has just ended.
     * @param {string} name
     * @param {string} outcome
     * @param {number} from when the action started, from performance.now()
     */
    record(name, outcome, from) {
      const count = actions.get(name) ?? { all: 0, ok: 0 };
      actions.set(name, count);
      count.all += 1;
      if (outcome === 'ok') count.ok += 1;
      else failures.push({ name, outcome, startedAt: from, endedAt: performance.now() });
    },
    /**
     * Returns whether a response with a refreshed token may have been lost in this period.
     * @param {number} from
     * @param {number} to
     */
    mayLoseTokens: (from, to) =>
      windows.some((window) => window.losesTokens && window.from <= to && window.to >= from),
    /** @param {string} session @param {string} action */
    recordLostSession(session, action) {
      results.lostSessions.push({ session, action, at: performance.now() });
    },
    /** @param {string} description */
    recordWrongResponse(description) {
      const now = performance.now();
      results.wrongResponses.push(description);
      wrongLines.push(`${toSeconds(now)} wrong response: ${description}, ${afterWindow(now)}`);
    },
    /** Counts the failures by outcome and verdict. */
    countByOutcome() {
      /** @type {Map<string, Record<Verdict, number>>} */
      const counts = new Map();
      for (const failure of failures) {
        const count = counts.get(failure.outcome) ?? { explained: 0, stalled: 0, unexplained: 0 };
        counts.set(failure.outcome, count);
        count[verdictOf(failure)] += 1;
      }
      return counts;
    },
    /** Counts the failures with this verdict. @param {Verdict} verdict */
    count: (verdict) => failures.filter((failure) => verdictOf(failure) === verdict).length,
    /**
     * Returns the first unexplained failures, lost sessions and wrong responses, one per line.
     * @param {readonly LostSession[]} lostSessions
     */
    examples(lostSessions) {
      const unexplained = failures
        .filter((failure) => verdictOf(failure) === 'unexplained')
        .map(
          ({ name, outcome, startedAt: from, endedAt }) =>
            `${toSeconds(from)} – ${toSeconds(endedAt)} ${name}: ${outcome}, ${afterWindow(from)}`,
        );
      const lost = lostSessions.map(
        ({ session, action, at }) =>
          `${toSeconds(at)} session ${session} lost at ${action}, ${afterWindow(at)}`,
      );
      return [unexplained, lost, wrongLines].flatMap((list) => list.slice(0, MAX_EXAMPLES));
    },
  };
  return results;
}

/** @typedef {ReturnType<typeof createResults>} Results */
