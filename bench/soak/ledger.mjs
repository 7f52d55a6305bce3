import { TOO_LARGE_TO_REPEAT } from './outcomes.mjs';

/** What came of everything that anybody did, and whether it had to. */

/**
 * A time in which something is broken on purpose.
 * @typedef {object} Window
 * @property {string} name
 * @property {ReadonlySet<string>} allows The outcomes that it explains.
 * @property {boolean} losesTokens Whether a renewed token may have died on its way.
 * @property {boolean} isExcuse Nobody broke anything: the machine was too busy. What only that explains is counted by itself.
 * @property {number} from By performance.now().
 * @property {number} to
 */
/**
 * What came of one deed: `ok`, or what came instead, see outcomes.mjs.
 * @typedef {object} Deed
 * @property {string} name
 * @property {string} outcome
 * @property {number} began By performance.now().
 * @property {number} ended
 */

const EXAMPLES = 12;

/**
 * @typedef {object} Loss
 * @property {string} session its pseudonym
 * @property {string} deed at which it was gone, and how that was told
 * @property {number} at By performance.now().
 */
/** @typedef {'explained' | 'excused' | 'unexplained'} Verdict */

export function createLedger() {
  /** @type {Window[]} */
  const windows = [];
  /** All that did not go well. @type {Deed[]} */
  const troubles = [];
  /** By name of the deed: how many, and how many went well. @type {Map<string, { all: number, ok: number }>} */
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
    /** Sessions that were signed in and not ended, and are gone. @type {Loss[]} */
    lost: [],
    /** Answers with what is another's, that are not whole, or to whom they must not come. @type {string[]} */
    wrong: [],
    signIns: 0,
    signOuts: 0,
    /**
     * Something breaks from now on, until the window is closed.
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
     * Whether a renewed token may have died on its way in this time.
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
    /** Troubles by outcome, and whether anything explains them. */
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
    /** Lines about the first of all that nothing explains. @param {readonly Loss[]} lost */
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
