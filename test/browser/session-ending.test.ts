import { beforeEach, describe, expect, test } from '@jest/globals';
import type { BrowserContext, Page } from 'playwright-core';
import { sessionControls, stopClock } from '../support/e2e/session-controls.ts';
import { violationsInBothLooks } from '../support/e2e/page-checks.ts';
import { startE2e } from '../support/e2e/start-e2e.ts';
import { waitForSessionStatus, type WatchedPage } from '../support/e2e/watched-page.ts';

const MAX_MS = 43_200_000;
/** Just under two minutes before the end of the one-hour idle timeout. */
const NEAR_THE_END = '58:01';
/** Slightly less than two minutes, because Cloakroom's clock keeps running during the test. */
const LEFT_MS = 115_000;

const e2e = startE2e();

const notice = (page: Page) => page.locator('[data-notice="session"]');
const stay = (page: Page) => page.getByRole('button', { name: 'Stay signed in' });

/** Returns the number of seconds that the notice shows. */
async function secondsLeft(page: Page): Promise<number> {
  const shown = await page.locator('.time-left').innerText();
  const [, minutes = '0', seconds = '0'] = /^(?:(\d+) minutes?)? ?(?:(\d+) seconds?)?$/.exec(shown) ?? [];
  return Number(minutes) * 60 + Number(seconds);
}

let watched: WatchedPage;
let page: Page;
let context: BrowserContext;
let session: Awaited<ReturnType<typeof sessionControls>>;
beforeEach(async () => {
  watched = await e2e.openSignedIn('/workspaces', {}, stopClock);
  ({ page, context } = watched);
  session = await sessionControls(context, e2e.testApp);
});

describe('a session that is about to expire', () => {
  /** Sets the session's remaining time to LEFT_MS and advances the page's clock until the page checks the session. */
  const comeNearTheEnd = async () => {
    await session.setIdleMs(LEFT_MS);
    await context.clock.fastForward(NEAR_THE_END);
    await stay(page).waitFor();
  };

  test('the page shows an accessible countdown that screen readers announce twice', async () => {
    await comeNearTheEnd();
    expect(await notice(page).innerText()).toMatch(
      /You will be signed out in 1 minute(?: \d+ seconds?)? because/,
    );
    expect(await secondsLeft(page)).toBeLessThanOrEqual(LEFT_MS / 1_000);
    expect(await secondsLeft(page)).toBeGreaterThan((await session.getIdleMs()) / 1_000 - 2);
    expect(await violationsInBothLooks(watched)).toEqual([]);
    const spoken = notice(page).locator('p').first();
    const first = await spoken.textContent();
    expect(first).toMatch(
      /^You will be signed out in 1 minute(?: \d+ seconds?)? because you’ve been inactive\.$/,
    );
    const atFirst = await secondsLeft(page);
    await context.clock.runFor(20_000);
    expect(await secondsLeft(page)).toBe(atFirst - 20);
    expect(await spoken.textContent()).toBe(first);
    await context.clock.runFor((atFirst - 20 - 25) * 1_000);
    expect(await secondsLeft(page)).toBe(25);
    expect(await spoken.textContent()).toBe('You will be signed out in 30 seconds.');
    expect(watched.browserErrors).toEqual([]);
  });

  test('the Stay signed in button extends the session and keeps typed text and the focus', async () => {
    await page.evaluate("document.querySelector('main').append(document.createElement('textarea'))");
    await page.getByRole('textbox').fill('half a thought');
    await comeNearTheEnd();
    await stay(page).click();
    await page.getByText('You are still signed in.').waitFor();
    expect(await session.getIdleMs()).toBeGreaterThan(3_500_000);
    expect(await notice(page).count()).toBe(0);
    expect(await page.getByRole('textbox').inputValue()).toBe('half a thought');
    expect(await page.evaluate('document.activeElement.tagName')).toBe('TEXTAREA');
  });

  test('every tab shows a notice until the user extends the session in one tab', async () => {
    const second = await context.newPage();
    await second.goto(`${e2e.testApp.origin}/workspaces?page=2`);
    await waitForSessionStatus(second);
    await comeNearTheEnd();
    await stay(second).click();
    await stay(page).waitFor({ state: 'detached' });
    expect(await session.getIdleMs()).toBeGreaterThan(3_500_000);
  });

  test('the user can still extend the session after Cloakroom has failed to respond', async () => {
    await comeNearTheEnd();
    await page.route('**/auth/session', async (route) => route.abort());
    await stay(page).click();
    await page.getByText('Cloakroom did not respond').waitFor();
    await page.unroute('**/auth/session');
    await stay(page).click();
    await page.getByText('You are still signed in.').waitFor();
    expect(await page.getByText('Cloakroom did not respond').count()).toBe(0);
  });

  test('the page checks the session again before hiding its content', async () => {
    await comeNearTheEnd();
    await session.end();
    await context.clock.runFor(LEFT_MS + 2_000);
    await page.getByRole('heading', { name: 'Your session has ended' }).waitFor();
    expect(await notice(page).count()).toBe(0);
  });
});

test('a session near its maximum age offers a new sign-in instead of an extension', async () => {
  e2e.testApp.advanceClock(MAX_MS - LEFT_MS);
  try {
    await context.clock.fastForward(NEAR_THE_END);
    const signInAgain = page.getByRole('link', { name: 'Sign in again now' });
    await signInAgain.waitFor();
    expect(await notice(page).innerText()).toMatch(
      /1 minute(?: \d+ seconds?)? because each sign-in has a time limit/,
    );
    expect(await signInAgain.getAttribute('href')).toBe('/auth/login?return_to=%2Fworkspaces');
    expect(await stay(page).count()).toBe(0);
    expect(await violationsInBothLooks(watched)).toEqual([]);
  } finally {
    e2e.testApp.advanceClock(LEFT_MS - MAX_MS);
  }
});
