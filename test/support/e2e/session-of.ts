import type { BrowserContext, Page } from 'playwright-core';
import { sessionKey } from '../../../src/session/store.ts';
import type { TestApp } from '../test-app.ts';

/** The session that a browser profile is signed in with. */
export interface BrowserSession {
  /** Moves its end without use, in ms from now. */
  idleEndsIn(ms: number): Promise<void>;
  /** When that is, in ms from now. */
  idleLeft(): Promise<number>;
  /** Ends it as time does: its cookie stays. */
  end(): Promise<void>;
}

export async function sessionOf(context: BrowserContext, testApp: TestApp): Promise<BrowserSession> {
  const cookie = (await context.cookies(testApp.origin)).find(({ name }) => name === 'cloakroom');
  const id = testApp.services.cookie.read(`cloakroom=${cookie?.value}`)?.id;
  if (id === undefined) throw new Error('nobody is signed in');
  const key = sessionKey(testApp.config.redisPrefix, id);
  return {
    idleEndsIn: async (ms) => void (await testApp.redis.pexpire(key, ms)),
    idleLeft: async () => testApp.redis.pttl(key),
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

/** Comes back to a tab, and waits until it has asked whether it may still be seen. */
export async function comeBackTo(page: Page): Promise<void> {
  const asked = page.waitForResponse('**/auth/session');
  await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
  await asked;
}
