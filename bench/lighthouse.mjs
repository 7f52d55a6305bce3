import { signIn, startDemo } from '../scripts/running-demo.mjs';
import { startChromium } from '../scripts/chromium.mjs';
import { FORM_FACTORS, judgePage } from './support/lighthouse-pages.mjs';
import { freePort } from './support/free-port.mjs';
import { printTable } from './support/table.mjs';

/**
 * Prints what Lighthouse reports for the demo's pages, on a phone and on a desktop: the scores of its four categories, and each audit
 * below the best score. It never fails.
 */

/** Runs of each page. Speed differs from run to run, so the middle one counts. */
const RUNS = 3;
const GOALS = { performance: 95, accessibility: 100, 'best-practices': 100, seo: 100 };
const INSIDE = '/workspaces/workspace5733149';

/** The pages. Those behind a sign-in tell search engines to leave them out, so SEO does not count there. */
const PAGES = [
  { name: 'landing', path: '/', signedIn: false },
  { name: 'workspaces', path: '/workspaces', signedIn: true },
  { name: 'inside a workspace', path: INSIDE, signedIn: true },
  { name: 'console', path: '/console', signedIn: true },
  { name: 'guide', path: '/console/guide', signedIn: true },
];
const CATEGORIES = /** @type {(keyof typeof GOALS)[]} */ (Object.keys(GOALS));

const port = await freePort();
const demo = await startDemo();
const chromium = await startChromium({ args: [`--remote-debugging-port=${port}`] });
try {
  const cookie = await sessionCookie();
  /** @type {string[][]} */
  const rows = [];
  /** @type {string[]} */
  const findings = [];
  /** @type {string[]} */
  const misses = [];
  for (const { name, path, signedIn } of PAGES) {
    for (const formFactor of FORM_FACTORS) {
      const where = `${name}, ${formFactor}`;
      console.error(`${where} …`);
      const { scores, faults } = await judgeOften(demo.address + path, {
        port,
        formFactor,
        ...(signedIn && { cookie }),
      });
      const goals = CATEGORIES.filter((category) => category !== 'seo' || !signedIn);
      rows.push([where, ...CATEGORIES.map((each) => (goals.includes(each) ? `${scores[each]}` : '–'))]);
      misses.push(
        ...goals
          .filter((each) => (scores[each] ?? 0) < GOALS[each])
          .map((each) => `${where}: ${each} is ${scores[each]}, the goal ${GOALS[each]}`),
      );
      findings.push(
        ...faults.filter(({ category }) => goals.includes(category)).map(({ words }) => `${where}: ${words}`),
      );
    }
  }
  printTable('Lighthouse, of 100', [['', ...CATEGORIES], ...rows]);
  console.log(`\nAudits below 1:\n${findings.map((line) => `  ${line}`).join('\n') || '  none'}`);
  console.log(`\n${misses.join('\n') || 'Each category meets its goal.'}`);
} finally {
  await chromium.close();
  await demo.end();
}

/** @param {Parameters<typeof judgePage>} page */
async function judgeOften(...page) {
  const runs = [];
  while (runs.length < RUNS) runs.push(await judgePage(...page));
  const [middle] = runs
    .toSorted((a, b) => a.scores.performance - b.scores.performance)
    .slice(Math.floor(RUNS / 2));
  if (middle === undefined) throw new Error('There was no run.');
  return middle;
}

async function sessionCookie() {
  const context = await chromium.newContext();
  await signIn(await context.newPage(), demo.address);
  const cookies = await context.cookies(demo.address);
  await context.close();
  return cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
}
