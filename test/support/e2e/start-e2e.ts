import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, beforeAll } from '@jest/globals';
import type { BrowserContext, LaunchOptions } from 'playwright-core';
import { startChromium } from '../../../scripts/chromium.mjs';
import { useFixture, useTestApp } from '../fixtures.ts';
import type { TestApp } from '../test-app.ts';
import {
  waitForSessionStatus,
  openSharedPage,
  openPage,
  type Look,
  type WatchedPage,
} from './watched-page.ts';

/**
 * Starts a test app and Chromium for all tests in a file. After each test, closes the pages and removes the interceptor.
 * With `sharePage`, signed-in tests without `prepare` share one page for each look.
 */
export function startE2e(
  env: Readonly<Record<string, string>> = {},
  { sharePage = false, ...options }: LaunchOptions & { sharePage?: boolean } = {},
) {
  const testApp = useTestApp(env);
  const chromium = useFixture(async () => startChromium(options));
  let reopen: ReturnType<typeof openSharedPage>;
  beforeAll(() => {
    reopen = openSharedPage(chromium);
  });
  const opened: WatchedPage[] = [];
  const closeAfterTest = (watched: WatchedPage) => {
    opened.push(watched);
    return watched;
  };
  afterEach(async () => {
    testApp.intercept = () => false;
    for (const watched of opened.splice(0)) await watched[Symbol.asyncDispose]();
  });

  return {
    testApp,
    chromium,
    /** Opens a page in its own profile, without a session. */
    open: async (look?: Look) => closeAfterTest(await openPage(chromium, look)),
    /**
     * Opens the page at `path` as a user who has just signed in. For speed, the sign-in runs outside Chromium. With
     * JavaScript, resolves once the page has processed its first session response. `prepare` runs before the first request.
     */
    async openSignedIn(
      path = '/workspaces',
      look: Look = {},
      prepare?: (context: BrowserContext) => Promise<unknown>,
    ) {
      const isSame = sharePage && prepare === undefined;
      const watched = closeAfterTest(isSame ? await reopen(look) : await openPage(chromium, look));
      const { context, page } = watched;
      await context.addCookies(await signInCookies(testApp));
      await prepare?.(context);
      await page.goto(testApp.origin + path);
      if (look.javaScriptEnabled !== false) await waitForSessionStatus(page);
      return watched;
    },
    /** Responds in place of the service to requests whose target matches `target`. */
    respondTo(target: RegExp, respond: (res: ServerResponse, req: IncomingMessage) => void) {
      testApp.intercept = (req, res) => {
        if (!target.test(req.url ?? '')) return false;
        respond(res, req);
        return true;
      };
    },
  };
}

/** Signs in as `demo` and returns the cookies with the attributes that the server set. */
export async function signInCookies(testApp: TestApp) {
  const { browser } = await testApp.signIn();
  const cookies = await browser.jar.getCookies(testApp.origin);
  const domain = new URL(testApp.origin).hostname;
  return cookies.map(({ key, value, path, httpOnly, secure, sameSite }) => ({
    name: key,
    value,
    domain,
    path: path ?? '/',
    httpOnly,
    secure,
    sameSite: sameSite === 'strict' ? ('Strict' as const) : ('Lax' as const),
  }));
}
