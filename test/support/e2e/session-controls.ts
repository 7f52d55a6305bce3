import type { BrowserContext, Page } from 'playwright-core';
import { sessionKey } from '../../../src/session/store.ts';
import type { TestApp } from '../test-app.ts';

/** Returns functions that read and change the session of a browser profile. */
export async function sessionControls(context: BrowserContext, testApp: TestApp) {
  const cookie = (await context.cookies(testApp.origin)).find(({ name }) => name === 'cloakroom');
  const id = testApp.services.cookie.read(`cloakroom=${cookie?.value}`)?.id;
  if (id === undefined) throw new Error('the browser has no session cookie');
  const key = sessionKey(testApp.config.redisPrefix, id);
  return {
    /** Sets the time until the session expires due to inactivity, in ms. */
    setIdleMs: async (ms: number) => void (await testApp.redis.pexpire(key, ms)),
    getIdleMs: async () => testApp.redis.pttl(key),
    /** Ends the session as if it had expired, without removing the cookie from the browser. */
    end: async () => void (await testApp.redis.del(key)),
  };
}

/** Long enough for even a slow machine to stop the clock in time. */
const AHEAD_MS = 3_600_000;

/** Stops the browser's clock. On pages opened afterwards, no timer fires until the test advances the clock. */
export async function stopClock({ clock }: BrowserContext): Promise<void> {
  await clock.install();
  await clock.pauseAt(Date.now() + AHEAD_MS);
}

/** Simulates a return to the tab and waits for the session response. */
export async function returnToTab(page: Page): Promise<void> {
  const response = page.waitForResponse('**/auth/session');
  await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
  await response;
}
