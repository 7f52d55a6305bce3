import { parseArgs } from 'node:util';
import { startChromium } from '../scripts/chromium.mjs';
import { root } from '../scripts/launch.mjs';
import { signIn, startDemo } from '../scripts/running-demo.mjs';
import { median } from './support/statistics.mjs';
import { formatNumber, printTable } from './support/table.mjs';

/**
 * Measures *Load all pages* in a long list, and then the filter above the list: how long each takes, and the longest task of the
 * page. Chromium reports only tasks of at least 50 ms, so 0 means less. `--against FOLDER` also measures another checkout, in turn
 * with this one. A missed goal does not change the exit code.
 */

const RUNS = 5;
const WORKSPACES = [1_200, 10_000];
const LETTERS = 'lab 2';
/** Each letter has this long to take effect. */
const LETTER_MS = 1_000;
const GOALS = { 'Load all, s': 4, 'longest task, ms': 100, 'letter, ms': 100, 'its longest task, ms': 100 };
/** The goals hold for this number of workspaces. */
const GOAL_WORKSPACES = 1_200;

/**
 * Defines `measured` in each page. A change is on the screen after the next frame. The filter runs in the event's task, so that
 * frame shows the whole list filtered.
 */
const OBSERVE = `
  globalThis.measured = { tasks: [], letters: [] };
  measured.loadMs = new Promise((resolve) => (measured.onLoaded = resolve));
  new PerformanceObserver((list) => measured.tasks.push(...list.getEntries().map((task) => task.duration)))
    .observe({ type: 'longtask' });
  const whenPainted = (action) => requestAnimationFrame(() => setTimeout(action));
  addEventListener('click', ({ timeStamp, target }) => {
    if (!target.matches('[data-load]')) return;
    const outcome = document.querySelector('[data-outcome]');
    new MutationObserver(() => {
      if (outcome.textContent !== '') whenPainted(() => measured.onLoaded(performance.now() - timeStamp));
    }).observe(outcome, { childList: true });
  }, { capture: true });
  addEventListener('input', ({ timeStamp }) => {
    whenPainted(() => measured.letters.push(performance.now() - timeStamp));
  }, { capture: true });
`;

const { values } = parseArgs({ options: { against: { type: 'string' } } });
const folders = values.against === undefined ? [root] : [root, values.against];
const chromium = await startChromium();
try {
  for (const workspaces of WORKSPACES) await compare(workspaces);
} finally {
  await chromium.close();
}

/** @param {number} workspaces */
async function compare(workspaces) {
  const settings = { LOCAL_SERVICE_WORKSPACES: `${workspaces}` };
  const demos = await Promise.all(folders.map(async (folder) => startDemo(folder, settings)));
  try {
    /** @type {Awaited<ReturnType<typeof measure>>[][]} */
    const runs = demos.map(() => []);
    for (let run = 0; run < RUNS; run += 1) {
      for (const [at, { address }] of demos.entries()) runs[at]?.push(await measure(address));
    }
    const rows = [['', 'median', 'min', 'max', 'goal']];
    for (const [at, results] of runs.entries()) {
      for (const [name, goal] of Object.entries(GOALS)) {
        const hasGoal = at === 0 && workspaces === GOAL_WORKSPACES;
        const figures = results.map((result) => result[/** @type {keyof typeof GOALS} */ (name)]);
        rows.push(toRow(at === 0 ? name : `${name}, other checkout`, hasGoal ? goal : NaN, figures));
      }
    }
    printTable(`${workspaces} workspaces`, rows);
  } finally {
    await Promise.all(demos.map(async (demo) => demo.end()));
  }
}

/**
 * @param {string} address
 * @returns {Promise<Record<keyof typeof GOALS, number>>}
 */
async function measure(address) {
  const context = await chromium.newContext();
  try {
    const page = await context.newPage();
    await signIn(page, address);
    await page.addInitScript(OBSERVE);
    await page.goto(`${address}/workspaces`);
    await page.getByRole('button', { name: 'Load all pages' }).click();
    /** @type {number} */
    const loadMs = await page.evaluate('measured.loadMs');
    const longest = async () => {
      /** @type {number[]} */
      const tasks = await page.evaluate('measured.tasks.splice(0)');
      return Math.max(0, ...tasks);
    };
    const longestTask = await longest();
    await page.evaluate(`document.querySelector('[type="search"]').focus()`);
    for (const letter of LETTERS) {
      await page.keyboard.press(letter);
      await page.waitForTimeout(LETTER_MS);
    }
    /** @type {number[]} */
    const letters = await page.evaluate('measured.letters');
    return {
      'Load all, s': loadMs / 1_000,
      'longest task, ms': longestTask,
      'letter, ms': Math.max(...letters),
      'its longest task, ms': await longest(),
    };
  } finally {
    await context.close();
  }
}

/**
 * @param {string} name
 * @param {number} goal NaN if the row has no goal
 * @param {readonly number[]} figures
 */
function toRow(name, goal, figures) {
  return [
    name,
    ...[median(figures), Math.min(...figures), Math.max(...figures)].map(formatNumber),
    Number.isNaN(goal) ? '' : `${goal}${median(figures) <= goal ? '' : ' missed'}`,
  ];
}
