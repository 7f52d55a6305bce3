import { TOO_LARGE_TO_REPEAT } from './outcomes.mjs';

/** Records the outcome of every action, and whether a mishap explains it. */

/**
 * A time in which something is broken on purpose, or in which the machine stalls.
 * @typedef {object} Window
 * @property {string} name
 * @property {ReadonlySet<string>} allows the outcomes that it explains
 * @property {boolean} losesTokens whether a refreshed token may have been lost on the way
 * @property {boolean} isExcuse whether the machine stalled; what only that explains is counted separately
 * @property {number} from by performance.now()
 * @property {number} to
 */
/**
 * The outcome of one action: `ok`, or another one of outcomes.mjs.
 * @typedef {object} Deed
 * @property {string} name
 * @property {string} outcome
 * @property {number} began by performance.now()
 * @property {number} ended
 */

const EXAMPLES = 12;

/**
 * @typedef {object} Loss
 * @property {string} session its pseudonym
 * @property {string} deed the action that found it ended, and its outcome
 * @property {number} at by performance.now()
 */
/** @typedef {'explained' | 'excused' | 'unexplained'} Verdict */

export function createLedger() {
  /** @type {Window[]} */
  const windows = [];
  /** The actions with another outcome than `ok`. @type {Deed[]} */
  const troubles = [];
  /** By name of the action: how many, and how many were `ok`. @type {Map<string, { all: number, ok: number }>} */
  const deeds = new Map();
  /** @type {string[]} */
  const notes = [];
  const began = performance.now();
  const atSecond = (/** @type {number} */ at) => `${((at - began) / 1_000).toFixed(1)} s`;
  /** @param {number} at */
  const before = (at) => `after "${windows.findLast(({ from }) => from <= at)?.name ?? 'nothing'}"`;
  /** @type {(deed: Deed) => Verdict} */
  const judge = ({ outcome, began: from, ended }) => {
    if (outcome === TOO_LARGE_TO_REPEAT) return 'explained'; // at any time
    const reasons = windows.filter(
      (window) => window.from <= ended && window.to >= from && window.allows.has(outcome),
    );
    if (reasons.some(({ isExcuse }) => !isExcuse)) return 'explained';
    return reasons.length > 0 ? 'excused' : 'unexplained';
  };

  const ledger = {
    deeds,
    /** Sessions that ended although no user signed out. @type {Loss[]} */
    lost: [],
    /** Responses of another user, incomplete ones, and those that must not have come. @type {string[]} */
    wrong: [],
    signIns: 0,
    signOuts: 0,
    /**
     * Opens a window: something is broken from now on.
     * @param {string} name
     * @param {readonly string[]} allows
     * @param {{ from?: number, to?: number, losesTokens?: boolean | undefined, isExcuse?: boolean }} [more]
     * @returns {Window}
     */
    open(
      name,
      allows,
      { from = performance.now(), to = Infinity, losesTokens = false, isExcuse = false } = {},
    ) {
      const window = { name, allows: new Set(allows), from, to, losesTokens, isExcuse };
      windows.push(window);
      return window;
    },
    /**
     * @param {string} name
     * @param {string} outcome
     * @param {number} from by performance.now()
     */
    note(name, outcome, from) {
      const count = deeds.get(name) ?? { all: 0, ok: 0 };
      deeds.set(name, count);
      count.all += 1;
      if (outcome === 'ok') count.ok += 1;
      else troubles.push({ name, outcome, began: from, ended: performance.now() });
    },
    /**
     * Whether a refreshed token may have been lost on the way in this time.
     * @param {number} from
     * @param {number} to
     */
    lostTokens: (from, to) =>
      windows.some((window) => window.losesTokens && window.from <= to && window.to >= from),
    /** @param {string} session @param {string} deed */
    noteLost(session, deed) {
      ledger.lost.push({ session, deed, at: performance.now() });
    },
    /** @param {string} what */
    noteWrong(what) {
      ledger.wrong.push(what);
      notes.push(`${atSecond(performance.now())} wrong: ${what}, ${before(performance.now())}`);
    },
    /** Other outcomes than `ok`, by their explanation. */
    sumUp() {
      /** @type {Map<string, Record<Verdict, number>>} */
      const counts = new Map();
      for (const trouble of troubles) {
        const count = counts.get(trouble.outcome) ?? { explained: 0, excused: 0, unexplained: 0 };
        counts.set(trouble.outcome, count);
        count[judge(trouble)] += 1;
      }
      return counts;
    },
    /** @param {Verdict} verdict */
    count: (verdict) => troubles.filter((trouble) => judge(trouble) === verdict).length,
    /** Lines about the first unexplained outcomes. @param {readonly Loss[]} lost */
    examples(lost) {
      const lines = troubles
        .filter((trouble) => judge(trouble) === 'unexplained')
        .map(
          ({ name, outcome, began: from, ended }) =>
            `${atSecond(from)} – ${atSecond(ended)} ${name}: ${outcome}, ${before(from)}`,
        );
      const losses = lost.map(
        ({ session, deed, at }) => `${atSecond(at)} session ${session} lost at ${deed}, ${before(at)}`,
      );
      return [lines, losses, notes].flatMap((list) => list.slice(0, EXAMPLES));
    },
  };
  return ledger;
}

/** @typedef {ReturnType<typeof createLedger>} Ledger */
