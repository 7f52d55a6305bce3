import { describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { createDeferred } from '../../src/promises.ts';
import { WORKSPACES_PATH } from '../support/constants.ts';
import { stopClock } from '../support/e2e/session-of.ts';
import { faultsInBothLooks } from '../support/e2e/page-checks.ts';
import { startE2e } from '../support/e2e/start-e2e.ts';

const e2e = startE2e({}, { inOnePage: true });

/** Complaints of the browser itself about an answer that is meant to be an error. */
const unmeant = (complaints: readonly string[]) =>
  complaints.filter((words) => !words.startsWith('Failed to load resource'));

const asksForAPause = (seconds: number) => {
  e2e.testApp.intercept = (req, res) => {
    if (req.url?.startsWith(WORKSPACES_PATH) !== true) return false;
    res.writeHead(429, { 'retry-after': String(seconds) }).end('{}');
    return true;
  };
};

describe('offline', () => {
  test('a notice comes and goes, and nobody is signed out by it', async () => {
    await using watched = await e2e.openSignedIn();
    const { page, context } = watched;
    await context.setOffline(true);
    const notice = page.getByText('You are offline. What you see may be out of date.');
    await notice.waitFor();
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
    expect(await page.locator('[data-items] > li').count()).toBe(25);
    expect(await faultsInBothLooks(watched)).toEqual([]);
    const asked = page.waitForResponse('**/auth/session');
    await context.setOffline(false);
    await notice.waitFor({ state: 'detached' });
    await asked;
    expect(await page.locator('[data-items] > li').count()).toBe(25);
    expect(watched.complaints).toEqual([]);
  });
});

describe('a page that is slow to come', () => {
  const isLoading = async (page: Page) => page.locator('html[data-loading]').count();
  const isBusy = async (page: Page) => page.locator('main').getAttribute('aria-busy');

  /** The list comes when the test lets it. */
  const heldBack = () => {
    const released = createDeferred<void>();
    e2e.testApp.intercept = (req, res) => {
      if (req.url?.startsWith(WORKSPACES_PATH) !== true) return false;
      void released.promise.then(() => res.writeHead(503).end('{}'));
      return true;
    };
    return released.resolve;
  };

  test.each([
    ['no-preference', 'loading'],
    ['reduce', 'loading-still'],
  ] as const)('shows a bar, with motion: %s', async (reducedMotion, animation) => {
    // Nothing can be asked of a page that is being left: it tells by itself.
    const shown = createDeferred<unknown>();
    await using watched = await e2e.openSignedIn('/workspaces', {}, async (context) =>
      context.exposeFunction('tell', shown.resolve),
    );
    const { page } = watched;
    await page.emulateMedia({ reducedMotion });
    await page.evaluate(`new MutationObserver(() => tell([
      getComputedStyle(document.documentElement, '::before').animationName,
      document.querySelector('main').ariaBusy,
    ])).observe(document.documentElement, { attributeFilter: ['data-loading'] })`);
    const release = heldBack();
    const clicked = page.getByRole('link', { name: 'Next' }).click(); // is done once the page has come
    expect(await shown.promise).toEqual([animation, 'true']);
    release();
    await clicked;
    await page.waitForURL(/page=2/);
    expect(await isLoading(page)).toBe(0);
  });

  test.each([
    ['a download', { download: '' }, []],
    ['a place on the same page', { href: '#content' }, []],
    ['another window', { target: '_blank' }, []],
    ['a click for a new tab', {}, ['ControlOrMeta'] as const],
  ])('is not announced for %s', async (_name, attributes, modifiers) => {
    await using watched = await e2e.openSignedIn();
    const { page } = watched;
    await page.evaluate(`(() => {
      const link = document.createElement('a');
      link.textContent = 'Elsewhere';
      link.href = '/assets/favicon.svg';
      for (const [name, value] of Object.entries(${JSON.stringify(attributes)})) link.setAttribute(name, value);
      document.querySelector('main').prepend(link);
    })()`);
    await page.getByRole('link', { name: 'Elsewhere' }).click({ modifiers: [...modifiers] });
    expect(await isLoading(page)).toBe(0);
    expect(await isBusy(page)).toBeNull();
  });

  test('is over for a page that comes back from memory, and after a while', async () => {
    await using watched = await e2e.openSignedIn();
    const { page } = watched;
    const load = "document.documentElement.dataset.loading = ''";
    await page.evaluate(load);
    await page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow'))");
    expect(await isLoading(page)).toBe(0);
    await page.evaluate(load);
    await page.evaluate('for (const animation of document.getAnimations()) animation.finish()');
    await page.locator('html:not([data-loading])').waitFor();
    expect(await isLoading(page)).toBe(0);
  });
});

describe('a service that asks for a pause', () => {
  test.each([
    [true, /You can try again in 1 min \d+ s\./, null],
    [false, /You can try again in 2 minutes\./, '/workspaces?page=2'],
  ])('gets it, with JavaScript: %s', async (javaScriptEnabled, words, href) => {
    await using watched = await e2e.openSignedIn('/workspaces', { javaScriptEnabled });
    const { page } = watched;
    asksForAPause(119);
    await page.goto(`${e2e.testApp.origin}/workspaces?page=2`);
    expect(await page.locator('main').innerText()).toMatch(words);
    expect(await page.getByRole('link', { name: 'Try again' }).getAttribute('href')).toBe(href);
    expect(unmeant(watched.complaints)).toEqual([]);
  });

  test('is asked again only by the person, once the time is over', async () => {
    await using watched = await e2e.openSignedIn('/workspaces', {}, stopClock);
    const { page, context } = watched;
    asksForAPause(5);
    await page.goto(`${e2e.testApp.origin}/workspaces?page=2`);
    await context.clock.runFor(3_000);
    await page.getByText('You can try again in 2 s.').waitFor();
    const asked = e2e.testApp.serviceRequests.length;
    await context.clock.runFor(60_000);
    expect(await page.getByRole('status').filter({ hasText: 'You can try again now.' }).count()).toBe(1);
    expect(e2e.testApp.serviceRequests).toHaveLength(asked);
    expect(await faultsInBothLooks(watched)).toEqual([]);
    e2e.testApp.intercept = () => false;
    await page.getByRole('link', { name: 'Try again' }).click();
    await page.locator('[data-items] > li').first().waitFor();
  });
});

test('The number to mention is copied with a press', async () => {
  await using watched = await e2e.open();
  const { page, context } = watched;
  await stopClock(context); // the word goes after a while
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: e2e.testApp.origin });
  await page.goto(`${e2e.testApp.origin}/no-such-page`);
  await page.getByRole('button', { name: 'Copy the reference' }).click();
  await page.getByText('Copied').waitFor();
  const number = await page.locator('[data-request-id] code').innerText();
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(number);
  expect(await faultsInBothLooks(watched)).toEqual([]);
});

test.each([
  [1280, 16],
  [320, 16],
  [320, 32],
])('Sign out is in sight at %d px and letters of %d px', async (width, letters) => {
  await using watched = await e2e.openSignedIn('/workspaces', { javaScriptEnabled: false });
  const { page, context } = watched;
  await page.setViewportSize({ width, height: 640 });
  const devtools = await context.newCDPSession(page);
  await devtools.send('Page.setFontSizes', { fontSizes: { standard: letters } });
  const button = await page.getByRole('button', { name: 'Sign out' }).boundingBox();
  if (button === null) throw new Error('there is no Sign out');
  expect(button.x + button.width).toBeLessThanOrEqual(width + 1);
  expect(button.y + button.height).toBeLessThanOrEqual(640);
  const { cssContentSize } = await devtools.send('Page.getLayoutMetrics');
  expect(cssContentSize.width).toBeLessThanOrEqual(width);
  await devtools.detach(); // its letters go with it
});
