import type { BrowserContext, Page } from 'playwright-core';
import { sessionKey } from '../../../src/session/store.ts';
import type { TestApp } from '../test-app.ts';

/** The session that a browser profile is signed in with. */
export async function sessionOf(context: BrowserContext, testApp: TestApp) {
  const cookie = (await context.cookies(testApp.origin)).find(({ name }) => name === 'cloakroom');
  const id = testApp.services.cookie.read(`cloakroom=${cookie?.value}`)?.id;
  if (id === undefined) throw new Error('the browser has no session cookie');
  const key = sessionKey(testApp.config.redisPrefix, id);
  return {
    /** Moves the end of its idle time, in ms from now. */
    idleEndsIn: async (ms: number) => void (await testApp.redis.pexpire(key, ms)),
    idleLeft: async () => testApp.redis.pttl(key),
    /** Ends it as time does: the cookie stays. */
    end: async () => void (await testApp.redis.del(key)),
  };
}

/** Further ahead of ours than a machine can keep a test from stopping it. */
const AHEAD_MS = 3_600_000;

/** Stops the browser's clock, best before a page is opened: nothing is over there before the test lets time pass. */
export async function stopClock({ clock }: BrowserContext): Promise<void> {
  await clock.install();
  await clock.pauseAt(Date.now() + AHEAD_MS);
}

/** Returns to a tab, and waits until it has requested its session. */
export async function comeBackTo(page: Page): Promise<void> {
  const response = page.waitForResponse('**/auth/session');
  await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
  await response;
}
