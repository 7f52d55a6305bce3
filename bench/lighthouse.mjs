import { signIn, startDemo } from '../scripts/running-demo.mjs';
import { startChromium } from '../scripts/chromium.mjs';
import { auditPage, FORM_FACTORS } from './support/lighthouse-pages.mjs';
import { freePort } from './support/free-port.mjs';
import { printTable } from './support/table.mjs';

/**
 * Audits the demo pages with Lighthouse, on a simulated phone and desktop. Prints the scores in the four categories and each audit
 * below the maximum score. A missed goal does not change the exit code.
 */

/** Number of runs for each page. The result is the run with the median performance score. */
const RUNS = 3;
const GOALS = { performance: 95, accessibility: 100, 'best-practices': 100, seo: 100 };
const INSIDE = '/workspaces/workspace5733149';

/** There is no SEO goal for pages behind sign-in, because these pages exclude search engines. */
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
  const failures = [];
  /** @type {string[]} */
  const misses = [];
  for (const { name, path, signedIn } of PAGES) {
    for (const formFactor of FORM_FACTORS) {
      const where = `${name}, ${formFactor}`;
      console.error(`${where} …`);
      const { scores, failedAudits } = await auditRepeatedly(demo.address + path, {
        port,
        formFactor,
        ...(signedIn && { cookie }),
      });
      const goals = CATEGORIES.filter((category) => category !== 'seo' || !signedIn);
      rows.push([where, ...CATEGORIES.map((each) => (goals.includes(each) ? `${scores[each]}` : '–'))]);
      misses.push(
        ...goals
          .filter((each) => (scores[each] ?? 0) < GOALS[each])
          .map((each) => `${where}: ${each} ${scores[each]}, goal ${GOALS[each]}`),
      );
      failures.push(
        ...failedAudits
          .filter(({ category }) => goals.includes(category))
          .map(({ description }) => `${where}: ${description}`),
      );
    }
  }
  printTable('Lighthouse scores, out of 100', [['', ...CATEGORIES], ...rows]);
  console.log(
    `\nAudits below the maximum score of 1:\n${failures.map((line) => `  ${line}`).join('\n') || '  none'}`,
  );
  console.log(`\n${misses.join('\n') || 'Every category met its goal.'}`);
} finally {
  await chromium.close();
  await demo.end();
}

/** @param {Parameters<typeof auditPage>} page */
async function auditRepeatedly(...page) {
  const runs = [];
  while (runs.length < RUNS) runs.push(await auditPage(...page));
  const [median] = runs
    .toSorted((a, b) => a.scores.performance - b.scores.performance)
    .slice(Math.floor(RUNS / 2));
  if (median === undefined) throw new Error('RUNS must be at least 1.');
  return median;
}

async function sessionCookie() {
  const context = await chromium.newContext();
  await signIn(await context.newPage(), demo.address);
  const cookies = await context.cookies(demo.address);
  await context.close();
  return cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
}
