import axe from 'axe-core';
import type { Result } from 'axe-core';
import { HtmlValidate } from 'html-validate';
import type { Page } from 'playwright-core';
import { lookAgain, openPage } from './watched-page.ts';
import type { Look, WatchedPage } from './watched-page.ts';

const htmlValidate = new HtmlValidate({
  extends: ['html-validate:recommended'],
  rules: {
    // Templates break lines where they loop.
    'no-trailing-whitespace': 'off',
    // Void elements are written without a slash, attributes of them without a value.
    'void-style': 'off',
    // Code that scrolls is a region that a keyboard can come to.
    'prefer-native-element': ['error', { exclude: ['region'] }],
    // Counted as written: an escaped letter is up to six of them.
    'long-title': ['error', { maxlength: 150 }],
    'doctype-style': ['error', { style: 'lowercase' }],
  },
});

/** What is wrong with a page as the server wrote it: every breach of the HTML standard, a line each. */
export async function htmlFaults(html: string): Promise<string[]> {
  const { results } = await htmlValidate.validateString(html);
  return results.flatMap(({ messages }) =>
    messages.map(({ ruleId, message, line, column }) => `${line}:${column} ${ruleId}: ${message}`),
  );
}

/**
 * What is wrong with a page as it stands for a person: a sideways scroll, and every violation that axe finds. axe takes its
 * time: of the looks at a page it judges wide and light, and narrow and dark.
 */
export async function pageFaults({ page, look }: WatchedPage): Promise<string[]> {
  const isDark = await page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches");
  if ((page.viewportSize()?.width === 360) !== isDark) return sidewaysFaults(page);
  if (look.javaScriptEnabled !== false) return faultsOf(page);
  // axe needs scripts to look around: it gets a picture of the page, in which the page's own still don't run.
  await using still = await openStill(page, look);
  return await faultsOf(still.page);
}

/**
 * The same of both looks that axe judges, one after the other, and whether it fits the narrowest screen: what a page that is
 * open stands in is kept.
 */
export async function faultsInBothLooks(watched: WatchedPage): Promise<string[]> {
  await lookAgain(watched, { width: 1280, colorScheme: 'light' });
  const wide = await pageFaults(watched);
  const narrowest = await narrowFaults(watched);
  await lookAgain(watched, { width: 360, colorScheme: 'dark' });
  const narrow = (await pageFaults(watched)).map((fault) => `narrow and dark: ${fault}`);
  return [...wide, ...narrow, ...narrowest];
}

const NARROWEST = [
  { width: 320, letters: 16 }, // 1280 px at a zoom of 400 % (WCAG 2.2, 1.4.10)
  { width: 360, letters: 32 }, // of twice the size (1.4.4)
];

/** Whether a page can be scrolled sideways at these; its letters are as usual again after that. */
async function narrowFaults({ context, page }: WatchedPage): Promise<string[]> {
  const devtools = await context.newCDPSession(page);
  const setLetters = async (standard: number) =>
    devtools.send('Page.setFontSizes', { fontSizes: { standard } });
  const faults: string[] = [];
  for (const { width, letters } of NARROWEST) {
    await page.setViewportSize({ width, height: 640 });
    await setLetters(letters);
    const found = await sidewaysFaults(page);
    faults.push(...found.map((fault) => `at ${width} px with letters of ${letters} px: ${fault}`));
  }
  await setLetters(16); // and stays attached: to detach would end an emulation of being offline
  return faults;
}

async function openStill(page: Page, look: Look): Promise<WatchedPage> {
  const browser = page.context().browser();
  if (browser === null) throw new Error('the page has no browser');
  const still = await openPage(browser, { ...look, javaScriptEnabled: true });
  const html = await page.content();
  await still.context.route('**/*.js', async (route) => route.abort());
  // A page that goes on by itself stays where it is.
  await still.context.route('**', async (route) =>
    route.request().isNavigationRequest() ? route.fulfill({ status: 204 }) : route.fallback(),
  );
  await still.context.route(page.url(), async (route) =>
    route.fulfill({ body: html, contentType: 'text/html' }),
  );
  await still.page.goto(page.url());
  return still;
}

async function faultsOf(page: Page): Promise<string[]> {
  if (await page.evaluate('window.axe === undefined')) await page.evaluate(axe.source);
  const violationsNow = async () =>
    page.evaluate<Result[]>('axe.run().then((results) => results.violations)');
  // A page whose look has just changed may be half in the old one while axe looks: a fault of it is there the next time, too.
  const violations = (await violationsNow()).length === 0 ? [] : await violationsNow();
  return [
    ...violations.map(
      ({ id, help, nodes }) => `${id}: ${help} – ${nodes.map(({ target }) => target.join(' ')).join(', ')}`,
    ),
    ...(await sidewaysFaults(page)),
  ];
}

/** Whether a page can be scrolled sideways: it should never be wider than the screen. */
export async function sidewaysFaults(page: Page): Promise<string[]> {
  const overflow = await page.evaluate(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  );
  return Number(overflow) > 0 ? [`the page is ${String(overflow)} px wider than the screen`] : [];
}
