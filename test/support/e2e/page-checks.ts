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
    // The length counts escaped characters as up to six.
    'long-title': ['error', { maxlength: 150 }],
    'doctype-style': ['error', { style: 'lowercase' }],
  },
});

/** Returns every violation of the HTML standard in a page as the server sent it, one per line. */
export async function htmlViolations(html: string): Promise<string[]> {
  const { results } = await htmlValidate.validateString(html);
  return results.flatMap(({ messages }) =>
    messages.map(({ ruleId, message, line, column }) => `${line}:${column} ${ruleId}: ${message}`),
  );
}

/** Returns the faults of a page in its current look: horizontal scroll, and every violation that axe finds. */
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
 * Returns the faults of a page in two looks, and whether it fits the narrowest screens. The looks differ with and without
 * JavaScript, so that together they pair each value of width, colour scheme and JavaScript with each other.
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
 * Returns axe with timers that fire at once. It checks the page within one task, so the page can't change meanwhile. It also
 * works if the page has no scripts or a stopped clock.
 */
async function axeInOneTask(): Promise<string> {
  const source = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  return `((setTimeout) => { ${source} })((run) => run())`;
}

/** Without preload, because no page has media or depends on the orientation. */
const RUN_AXE = `axe.run({ resultTypes: ['violations'], preload: false }).then(({ violations }) => violations)`;

/** Replaces `noscript` elements by their content, because axe treats them as hidden. */
const SHOW_NOSCRIPT = `document.querySelectorAll('noscript').forEach((each) => each.replaceWith(...each.childNodes))`;

const NARROWEST = [
  { width: 320, fontSize: 16 }, // 1280 px at a zoom of 400 % (WCAG 2.2, 1.4.10)
  { width: 360, fontSize: 32 }, // twice the font size (1.4.4)
];

/** Returns where a page scrolls horizontally at these sizes. Resets the font size afterwards. */
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
  await setFontSize(16); // stays attached, because detaching would end an offline emulation
  return faults;
}

/** Returns a fault if the page is wider than the screen. */
export async function horizontalOverflow(page: Page): Promise<string[]> {
  const overflow = await page.evaluate(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  );
  return Number(overflow) > 0 ? [`the page is ${String(overflow)} px wider than the screen`] : [];
}
