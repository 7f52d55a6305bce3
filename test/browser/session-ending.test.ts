import { describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { sessionOf, stopClock } from '../support/e2e/session-of.ts';
import { faultsInBothLooks } from '../support/e2e/page-checks.ts';
import { startE2e } from '../support/e2e/start-e2e.ts';
import { knowsItsSession } from '../support/e2e/watched-page.ts';

const MAX_MS = 43_200_000;
/** Where two minutes are left of an hour, and a second. */
const NEAR_THE_END = '58:01';
/** In the last two minutes, and nearly all of them: Cloakroom's own clock goes on, however slow the machine is. */
const LEFT_MS = 115_000;

const e2e = startE2e();

const notice = (page: Page) => page.locator('[data-notice="session"]');
const stay = (page: Page) => page.getByRole('button', { name: 'Stay signed in' });

/** The seconds that a notice counts down. */
async function secondsLeft(page: Page): Promise<number> {
  const shown = await page.locator('.time-left').innerText();
  const [, minutes = '0', seconds = '0'] = /^(?:(\d+) min)? ?(?:(\d+) s)?$/.exec(shown) ?? [];
  return Number(minutes) * 60 + Number(seconds);
}

/** Signs in with the browser's clock in the test's hand. */
async function openSignedIn() {
  const watched = await e2e.openSignedIn('/workspaces', {}, stopClock);
  return { watched, session: await sessionOf(watched.context, e2e.testApp) };
}

/** The tab's own timer fires, and Cloakroom says that this much is left without use. */
async function comeNearTheEnd({ watched, session }: Awaited<ReturnType<typeof openSignedIn>>) {
  await session.idleEndsIn(LEFT_MS);
  await watched.context.clock.fastForward(NEAR_THE_END);
}

describe('a session about to end without use', () => {
  test('shows an accessible notice', async () => {
    const opened = await openSignedIn();
    await using watched = opened.watched;
    const { page } = watched;
    await comeNearTheEnd(opened);
    await stay(page).waitFor();
    expect(await notice(page).innerText()).toMatch(/You will be signed out in 1 min(?: \d+ s)?,/);
    expect(await secondsLeft(page)).toBeLessThanOrEqual(LEFT_MS / 1_000);
    expect(await secondsLeft(page)).toBeGreaterThan((await opened.session.idleLeft()) / 1_000 - 2);
    expect(await faultsInBothLooks(watched)).toEqual([]);
    expect(watched.complaints).toEqual([]);
  });

  test('counts down for the eye, and is heard once and once more', async () => {
    const opened = await openSignedIn();
    await using watched = opened.watched;
    const { page, context } = watched;
    await comeNearTheEnd(opened);
    await stay(page).waitFor();
    const heard = notice(page).locator('p').first();
    const first = await heard.textContent();
    expect(first).toMatch(
      /^You will be signed out in 1 minute(?: \d+ seconds?)?, because you have not used this site/,
    );
    const atFirst = await secondsLeft(page);
    await context.clock.runFor(20_000);
    expect(await secondsLeft(page)).toBe(atFirst - 20);
    expect(await heard.textContent()).toBe(first);
    await context.clock.runFor((atFirst - 20 - 25) * 1_000);
    expect(await secondsLeft(page)).toBe(25);
    expect(await heard.textContent()).toBe('You will be signed out in 30 seconds.');
  });

  test('goes on with Stay signed in, and what was typed stays', async () => {
    const opened = await openSignedIn();
    await using watched = opened.watched;
    const { page } = watched;
    await page.evaluate("document.querySelector('main').append(document.createElement('textarea'))");
    await page.getByRole('textbox').fill('half a thought');
    await comeNearTheEnd(opened);
    await stay(page).click();
    await page.getByText('You are still signed in.').waitFor();
    expect(await opened.session.idleLeft()).toBeGreaterThan(3_500_000);
    expect(await notice(page).count()).toBe(0);
    expect(await page.getByRole('textbox').inputValue()).toBe('half a thought');
    expect(await page.evaluate('document.activeElement.tagName')).toBe('TEXTAREA');
  });

  test('is told of in each tab, until one of them goes on', async () => {
    const opened = await openSignedIn();
    await using watched = opened.watched;
    const second = await watched.context.newPage();
    await second.goto(`${e2e.testApp.origin}/workspaces?page=2`);
    await knowsItsSession(second);
    await comeNearTheEnd(opened);
    await Promise.all([stay(watched.page).waitFor(), stay(second).waitFor()]);
    await stay(second).click();
    await stay(watched.page).waitFor({ state: 'detached' });
    expect(await opened.session.idleLeft()).toBeGreaterThan(3_500_000);
  });

  test('says so where Cloakroom does not answer, and can be asked again', async () => {
    const opened = await openSignedIn();
    await using watched = opened.watched;
    const { page } = watched;
    await comeNearTheEnd(opened);
    await stay(page).waitFor();
    await page.route('**/auth/session', async (route) => route.abort());
    await stay(page).click();
    await page.getByText('Cloakroom did not respond').waitFor();
    await page.unroute('**/auth/session');
    await stay(page).click();
    await page.getByText('You are still signed in.').waitFor();
    expect(await page.getByText('Cloakroom did not respond').count()).toBe(0);
  });

  test('ends, and the tab asks before it says so', async () => {
    const opened = await openSignedIn();
    await using watched = opened.watched;
    await comeNearTheEnd(opened);
    await stay(watched.page).waitFor();
    await opened.session.end();
    await watched.context.clock.runFor(LEFT_MS + 2_000);
    await watched.page.getByRole('heading', { name: 'Your session has ended' }).waitFor();
    expect(await notice(watched.page).count()).toBe(0);
  });
});

test('a session that ends by its age offers a new sign-in instead of more time', async () => {
  const { watched } = await openSignedIn();
  await using _ = watched;
  const { page, context } = watched;
  e2e.testApp.advance(MAX_MS - LEFT_MS);
  try {
    await context.clock.fastForward(NEAR_THE_END);
    const again = page.getByRole('link', { name: 'Sign in again now' });
    await again.waitFor();
    expect(await notice(page).innerText()).toMatch(
      /1 min(?: \d+ s)?, because a sign-in lasts only for a limited time/,
    );
    expect(await again.getAttribute('href')).toBe('/auth/login?return_to=%2Fworkspaces');
    expect(await stay(page).count()).toBe(0);
    expect(await faultsInBothLooks(watched)).toEqual([]);
  } finally {
    e2e.testApp.advance(LEFT_MS - MAX_MS);
  }
});
