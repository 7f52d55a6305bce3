import { describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { createDeferred } from '../../src/promises.ts';
import { WORKSPACES_PATH } from '../support/constants.ts';
import { stopClock } from '../support/e2e/session-controls.ts';
import { violationsInBothLooks } from '../support/e2e/page-checks.ts';
import { startE2e } from '../support/e2e/start-e2e.ts';

const e2e = startE2e({}, { sharePage: true });

const LISTS = new RegExp(`^${WORKSPACES_PATH}`);

/** Makes the service respond with 429 and `Retry-After`. */
const respondWithPause = (seconds: number) =>
  e2e.respondTo(LISTS, (res) => res.writeHead(429, { 'retry-after': String(seconds) }).end('{}'));

test('a page shows a notice while the browser is offline, and the user stays signed in', async () => {
  const watched = await e2e.openSignedIn();
  const { page, context } = watched;
  await context.setOffline(true);
  const notice = page.getByText('You are offline. This page may be out of date.');
  await notice.waitFor();
  await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
  expect(await page.locator('[data-items] li').count()).toBe(25);
  expect(await violationsInBothLooks(watched)).toEqual([]);
  const checked = page.waitForResponse('**/auth/session');
  await context.setOffline(false);
  await notice.waitFor({ state: 'detached' });
  await checked;
  expect(await page.locator('[data-items] li').count()).toBe(25);
  expect(watched.browserErrors).toEqual([]);
});

describe('a page that loads slowly', () => {
  const isLoading = async (page: Page) => page.locator('html[data-loading]').count();

  /** Holds responses from the service until the returned function is called. */
  const holdLists = () => {
    const { promise: released, resolve: release } = createDeferred<void>();
    e2e.respondTo(LISTS, (res) => void released.then(() => res.writeHead(503).end('{}')));
    return release;
  };

  test.each([
    ['no-preference', 'loading'],
    ['reduce', 'loading-still'],
  ] as const)('a loading bar appears with prefers-reduced-motion: %s', async (reducedMotion, animation) => {
    // Playwright can't query a page during a navigation, so the page reports its own state.
    const shown = createDeferred<unknown>();
    const { page } = await e2e.openSignedIn('/workspaces', {}, async (context) =>
      context.exposeFunction('report', shown.resolve),
    );
    await page.emulateMedia({ reducedMotion });
    await page.evaluate(`new MutationObserver(() => report([
      getComputedStyle(document.documentElement, '::before').animationName,
      document.querySelector('main').ariaBusy,
    ])).observe(document.documentElement, { attributeFilter: ['data-loading'] })`);
    const release = holdLists();
    const clicked = page.getByRole('link', { name: 'Next' }).click(); // resolves once the page has loaded
    expect(await shown.promise).toEqual([animation, 'true']);
    release();
    await clicked;
    await page.waitForURL(/page=2/);
    expect(await isLoading(page)).toBe(0);
  });

  test.each([
    ['a link to a download', { download: '' }, []],
    ['a link to a fragment of the same page', { href: '#content' }, []],
    ['a link that opens a new window', { target: '_blank' }, []],
    ['a click that opens a new tab', {}, ['ControlOrMeta'] as const],
  ])('no loading bar appears for %s', async (_name, attributes, modifiers) => {
    const { page } = await e2e.openSignedIn();
    await page.evaluate(`(() => {
      const link = document.createElement('a');
      link.textContent = 'Elsewhere';
      link.href = '/assets/favicon.svg';
      for (const [name, value] of Object.entries(${JSON.stringify(attributes)})) link.setAttribute(name, value);
      document.querySelector('main').prepend(link);
    })()`);
    await page.getByRole('link', { name: 'Elsewhere' }).click({ modifiers: [...modifiers] });
    expect(await isLoading(page)).toBe(0);
    expect(await page.locator('main').getAttribute('aria-busy')).toBeNull();
  });

  test('the loading bar disappears when its animation ends or the page is restored from the back/forward cache', async () => {
    const { page } = await e2e.openSignedIn();
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

describe('the error page after a 429 from the service', () => {
  test.each([
    [true, /You can try again in 1 minute \d+ seconds?\./, null],
    [false, /You can try again in 2 minutes\./, '/workspaces?page=2'],
  ])('the error page shows the remaining time (JavaScript: %s)', async (javaScriptEnabled, words, href) => {
    const { page, browserErrors } = await e2e.openSignedIn('/workspaces', { javaScriptEnabled });
    respondWithPause(119);
    await page.goto(`${e2e.testApp.origin}/workspaces?page=2`);
    expect(await page.locator('main').innerText()).toMatch(words);
    expect(await page.getByRole('link', { name: 'Try again' }).getAttribute('href')).toBe(href);
    expect(browserErrors.filter((text) => !text.startsWith('Failed to load resource'))).toEqual([]);
  });

  test('the error page enables the Try again button after the pause, but never sends a request by itself', async () => {
    const watched = await e2e.openSignedIn('/workspaces', {}, stopClock);
    const { page, context } = watched;
    respondWithPause(5);
    await page.goto(`${e2e.testApp.origin}/workspaces?page=2`);
    await context.clock.runFor(3_000);
    await page.getByText('You can try again in 2 seconds.').waitFor();
    const requests = e2e.testApp.serviceRequests.length;
    await context.clock.runFor(60_000);
    expect(await page.getByRole('status').filter({ hasText: 'You can try again now.' }).count()).toBe(1);
    expect(e2e.testApp.serviceRequests).toHaveLength(requests);
    expect(await violationsInBothLooks(watched)).toEqual([]);
    e2e.testApp.intercept = () => false;
    await page.getByRole('link', { name: 'Try again' }).click();
    await page.locator('[data-items] li').first().waitFor();
  });
});

test('the button on an error page copies its request ID', async () => {
  const watched = await e2e.open();
  const { page, context } = watched;
  await stopClock(context); // otherwise the confirmation could disappear before the check
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: e2e.testApp.origin });
  await page.goto(`${e2e.testApp.origin}/no-such-page`);
  await page.getByRole('button', { name: 'Copy the request ID' }).click();
  await page.getByText('Copied').waitFor();
  const requestId = await page.locator('[data-request-id] code').innerText();
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(requestId);
  expect(await violationsInBothLooks(watched)).toEqual([]);
});

test.each([
  [1280, 16],
  [320, 16],
  [320, 32],
])('Sign out is visible in a window %d px wide with a font size of %d px', async (width, fontSize) => {
  const { page, context } = await e2e.openSignedIn('/workspaces', { javaScriptEnabled: false });
  await page.setViewportSize({ width, height: 640 });
  const devtools = await context.newCDPSession(page);
  await devtools.send('Page.setFontSizes', { fontSizes: { standard: fontSize } });
  const button = await page.getByRole('button', { name: 'Sign out' }).boundingBox();
  if (button === null) throw new Error('the page has no Sign out');
  expect(button.x + button.width).toBeLessThanOrEqual(width + 1);
  expect(button.y + button.height).toBeLessThanOrEqual(640);
  const { cssContentSize } = await devtools.send('Page.getLayoutMetrics');
  expect(cssContentSize.width).toBeLessThanOrEqual(width);
  await devtools.detach(); // resets the font size
});
