import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Result } from 'axe-core';
import { HtmlValidate } from 'html-validate';
import type { Page } from 'playwright-core';
import { changeLook, resize } from './watched-page.ts';
import type { WatchedPage } from './watched-page.ts';

const htmlValidate = new HtmlValidate({
  extends: ['html-validate:recommended'],
  rules: {
    // Loops in the templates leave blank lines.
    'no-trailing-whitespace': 'off',
    // Void elements are written without a slash, and boolean attributes without a value.
    'void-style': 'off',
    // A scrollable listing is a region that can receive keyboard focus.
    'prefer-native-element': ['error', { exclude: ['region'] }],
    // The rule counts an escaped character as up to six characters.
    'long-title': ['error', { maxlength: 150 }],
    'doctype-style': ['error', { style: 'lowercase' }],
  },
});

/** Returns all violations that html-validate finds in a page as the server sent it. */
export async function htmlViolations(html: string): Promise<string[]> {
  const { results } = await htmlValidate.validateString(html);
  return results.flatMap(({ messages }) =>
    messages.map(({ ruleId, message, line, column }) => `${line}:${column} ${ruleId}: ${message}`),
  );
}

/** Returns the faults in a page's current look: horizontal scrolling and all violations that axe finds. */
export async function pageViolations({ page, look }: WatchedPage): Promise<string[]> {
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
    ...(await horizontalOverflow(page)),
  ];
}

/**
 * Returns the faults of a page in two looks and on the narrowest screens. The looks depend on whether JavaScript is enabled. Tests
 * with and without JavaScript together cover every pair of values of width, colour scheme and JavaScript.
 */
export async function violationsInBothLooks(watched: WatchedPage): Promise<string[]> {
  const schemes = ['light', 'dark'] as const;
  const [ofWide, ofNarrow] = watched.look.javaScriptEnabled === false ? schemes.toReversed() : schemes;
  const violationsIn = async (width: 360 | 1280, colorScheme: 'light' | 'dark' = 'light') => {
    await changeLook(watched, { width, colorScheme });
    return (await pageViolations(watched)).map((fault) => `${width} px, ${colorScheme}: ${fault}`);
  };
  const wide = await violationsIn(1280, ofWide);
  const narrowest = await overflowOnNarrowScreens(watched);
  return [...wide, ...narrowest, ...(await violationsIn(360, ofNarrow))];
}

/**
 * Returns the source of axe, with timers that fire immediately. axe therefore checks the page in one task, during which the
 * page can't change. The check also works with JavaScript turned off or the clock stopped.
 */
async function axeInOneTask(): Promise<string> {
  const source = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  return `((setTimeout) => { ${source} })((run) => run())`;
}

/** Runs axe without preloading, because no page has media or depends on the orientation. */
const RUN_AXE = `axe.run({ resultTypes: ['violations'], preload: false }).then(({ violations }) => violations)`;

/** Replaces `noscript` elements with their content, because axe treats them as hidden. */
const SHOW_NOSCRIPT = `document.querySelectorAll('noscript').forEach((each) => each.replaceWith(...each.childNodes))`;

const NARROWEST = [
  { width: 320, fontSize: 16 }, // 1280 px at a zoom of 400% (WCAG 2.2, 1.4.10)
  { width: 360, fontSize: 32 }, // twice the default font size (WCAG 2.2, 1.4.4)
];

/** Returns a fault for each size in NARROWEST at which the page scrolls horizontally. Resets the font size afterwards. */
async function overflowOnNarrowScreens({ context, page }: WatchedPage): Promise<string[]> {
  const devtools = await context.newCDPSession(page);
  const setFontSize = async (standard: number) =>
    devtools.send('Page.setFontSizes', { fontSizes: { standard } });
  const faults: string[] = [];
  for (const { width, fontSize } of NARROWEST) {
    await resize(page, { width, height: 640 });
    await setFontSize(fontSize);
    const found = await horizontalOverflow(page);
    faults.push(...found.map((fault) => `at ${width} px with a font size of ${fontSize} px: ${fault}`));
  }
  await setFontSize(16); // do not detach, because that would end offline emulation
  return faults;
}

/** Returns a fault if the page is wider than the screen. */
export async function horizontalOverflow(page: Page): Promise<string[]> {
  const overflow = await page.evaluate(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  );
  return Number(overflow) > 0 ? [`the page is ${String(overflow)} px wider than the screen`] : [];
}
