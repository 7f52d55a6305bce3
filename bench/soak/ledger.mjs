/** What came of everything that anybody did, and whether it had to. */

/**
 * A time in which something is broken on purpose.
 * @typedef {object} Window
 * @property {string} name
 * @property {RegExp} allows The outcomes that it explains.
 * @property {number} from By performance.now().
 * @property {number} to
 */
/**
 * What came of one deed: `ok`, or what came instead, e.g. `503 session_store_unavailable`.
 * @typedef {object} Deed
 * @property {string} name
 * @property {string} outcome
 * @property {number} began By performance.now().
 * @property {number} ended
 */

const EXAMPLES = 12;

/**
 * Whatever is no flaw at any time: a token is spent on its way to the service, and its call too large to be repeated.
 */
const ALWAYS = /^401 passed on, too large to repeat$/;

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
  /** @param {Deed} deed */
  const isExplained = ({ outcome, began: from, ended }) =>
    ALWAYS.test(outcome) ||
    windows.some((window) => window.from <= ended && window.to >= from && window.allows.test(outcome));

  const ledger = {
    deeds,
    /** Sessions that were signed in and not ended, and are gone: at what. @type {string[]} */
    lost: [],
    /** Answers with what is another's, that are not whole, or to whom they must not come. @type {string[]} */
    wrong: [],
    signIns: 0,
    signOuts: 0,
    /**
     * Something breaks from now on, until the window is closed.
     * @param {string} name
     * @param {RegExp} allows
     * @param {number} [from]
     * @returns {Window}
     */
    open(name, allows, from = performance.now()) {
      const window = { name, allows, from, to: Infinity };
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
    /** @param {string} deed */
    noteLost(deed) {
      ledger.lost.push(deed);
      notes.push(`${atSecond(performance.now())} session lost at ${deed}, ${before(performance.now())}`);
    },
    /** @param {string} what */
    noteWrong(what) {
      ledger.wrong.push(what);
      notes.push(`${atSecond(performance.now())} wrong: ${what}, ${before(performance.now())}`);
    },
    /** Troubles by outcome, and whether a mishap explains them. */
    sumUp() {
      /** @type {Map<string, { explained: number, unexplained: number }>} */
      const counts = new Map();
      for (const trouble of troubles) {
        const count = counts.get(trouble.outcome) ?? { explained: 0, unexplained: 0 };
        counts.set(trouble.outcome, count);
        count[isExplained(trouble) ? 'explained' : 'unexplained'] += 1;
      }
      return counts;
    },
    get unexplained() {
      return troubles.filter((trouble) => !isExplained(trouble)).length;
    },
    /** Lines about the first of all that nothing explains. */
    examples() {
      const lines = troubles
        .filter((trouble) => !isExplained(trouble))
        .map(
          ({ name, outcome, began: from, ended }) =>
            `${atSecond(from)} – ${atSecond(ended)} ${name}: ${outcome}, ${before(from)}`,
        );
      return [...lines.slice(0, EXAMPLES), ...notes.slice(0, EXAMPLES)];
    },
  };
  return ledger;
}

/** @typedef {ReturnType<typeof createLedger>} Ledger */
