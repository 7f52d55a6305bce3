import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Result } from 'axe-core';
import { HtmlValidate } from 'html-validate';
import type { Page } from 'playwright-core';
import { lookAgain, resize } from './watched-page.ts';
import type { WatchedPage } from './watched-page.ts';

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

/** What is wrong with a page in the look that it has: a sideways scroll, and every violation that axe finds. */
export async function pageFaults({ page, look }: WatchedPage): Promise<string[]> {
  if (await page.evaluate('window.axe === undefined')) {
    if (look.javaScriptEnabled === false) await page.evaluate(SHOW_NOSCRIPT);
    await page.evaluate(await axeInOneTask());
  }
  await page.evaluate('document.getAnimations().forEach((each) => each.finish())');
  const violations = await page.evaluate<Result[]>(RUN_AXE);
  return [
    ...violations.map(
      ({ id, help, nodes }) => `${id}: ${help} – ${nodes.map(({ target }) => target.join(' ')).join(', ')}`,
    ),
    ...(await sidewaysFaults(page)),
  ];
}

/**
 * The same in two looks, one after the other, and whether the page fits the narrowest screen. The looks with and without
 * JavaScript differ: over both, each value of width, colour scheme and JavaScript meets each value of the others.
 */
export async function faultsInBothLooks(watched: WatchedPage): Promise<string[]> {
  const schemes = ['light', 'dark'] as const;
  const [ofWide, ofNarrow] = watched.look.javaScriptEnabled === false ? schemes.toReversed() : schemes;
  const faultsIn = async (width: 360 | 1280, colorScheme: 'light' | 'dark' = 'light') => {
    await lookAgain(watched, { width, colorScheme });
    return (await pageFaults(watched)).map((fault) => `${width} px, ${colorScheme}: ${fault}`);
  };
  const wide = await faultsIn(1280, ofWide);
  const narrowest = await narrowFaults(watched);
  return [...wide, ...narrowest, ...(await faultsIn(360, ofNarrow))];
}

/**
 * axe with timers that fire at once: it judges the page within one task, in which the page can't change, and needs no timers
 * of the page's, which may have no scripts or a stopped clock.
 */
async function axeInOneTask(): Promise<string> {
  const source = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  return `((setTimeout) => { ${source} })((run) => run())`;
}

/** No page has media or is bound to an orientation: of the rules that would fetch files again none has anything to judge. */
const RUN_AXE = `axe.run({ resultTypes: ['violations'], preload: false }).then(({ violations }) => violations)`;

/** axe takes `noscript` for hidden. */
const SHOW_NOSCRIPT = `document.querySelectorAll('noscript').forEach((each) => each.replaceWith(...each.childNodes))`;

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
    await resize(page, { width, height: 640 });
    await setLetters(letters);
    const found = await sidewaysFaults(page);
    faults.push(...found.map((fault) => `at ${width} px with letters of ${letters} px: ${fault}`));
  }
  await setLetters(16); // and stays attached: to detach would end an emulation of being offline
  return faults;
}

/** Whether a page can be scrolled sideways: it should never be wider than the screen. */
export async function sidewaysFaults(page: Page): Promise<string[]> {
  const overflow = await page.evaluate(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  );
  return Number(overflow) > 0 ? [`the page is ${String(overflow)} px wider than the screen`] : [];
}
