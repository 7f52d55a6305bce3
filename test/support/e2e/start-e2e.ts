import { afterAll, afterEach, beforeAll } from '@jest/globals';
import type { Browser, BrowserContext, LaunchOptions } from 'playwright-core';
import { startChromium } from '../../../scripts/chromium.mjs';
import { startTestApp } from '../test-app.ts';
import type { TestApp } from '../test-app.ts';
import { knowsItsSession, openInOnePage, openPage } from './watched-page.ts';
import type { Look, WatchedPage } from './watched-page.ts';

/** A testApp and a Chromium for all tests of a file. */
export interface E2e {
  readonly testApp: TestApp;
  readonly chromium: Browser;
  /** Opens a page in a profile of its own, of somebody who has not signed in. */
  open(look?: Look): Promise<WatchedPage>;
  /**
   * The page at `path` for somebody who has just signed in, once it knows its session. The way there was gone without
   * Chromium, to be quick; `prepare` comes before the first request.
   */
  openSignedIn(
    path?: string,
    look?: Look,
    prepare?: (context: BrowserContext) => Promise<unknown>,
  ): Promise<WatchedPage>;
}

/**
 * Starts both before the tests of the file and ends them after; what a test intercepts is over with it. `inOnePage`: pages that
 * are opened signed in, without preparation, are the same one.
 */
export function startE2e(
  env: Readonly<Record<string, string>> = {},
  { inOnePage = false, ...options }: LaunchOptions & { inOnePage?: boolean } = {},
): E2e {
  let testApp: TestApp | undefined;
  let chromium: Browser | undefined;
  let openAgain: ReturnType<typeof openInOnePage>;
  beforeAll(async () => {
    [testApp, chromium] = await Promise.all([startTestApp(env), startChromium(options)]);
    openAgain = openInOnePage(chromium);
  });
  afterEach(() => {
    if (testApp !== undefined) testApp.intercept = () => false;
  });
  afterAll(async () => {
    await chromium?.close();
    await testApp?.[Symbol.asyncDispose]();
  });

  const e2e = {
    get testApp() {
      return started(testApp);
    },
    get chromium() {
      return started(chromium);
    },
    open: async (look?: Look) => openPage(e2e.chromium, look),
    openSignedIn: async (
      path = '/workspaces',
      look: Look = {},
      prepare?: (context: BrowserContext) => Promise<unknown>,
    ) => {
      const isSame = inOnePage && prepare === undefined;
      const watched = isSame ? await openAgain(look) : await openPage(e2e.chromium, look);
      const { context, page } = watched;
      await context.addCookies(await cookiesOfSignedIn(e2e.testApp));
      await prepare?.(context);
      await page.goto(e2e.testApp.origin + path);
      if (look.javaScriptEnabled !== false) await knowsItsSession(page);
      return watched;
    },
  };
  return e2e;
}

/** The cookies of a new session as `demo`, guarded as the server set them. */
export async function cookiesOfSignedIn(testApp: TestApp) {
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

function started<Part>(part: Part | undefined): Part {
  if (part === undefined) throw new Error('it has not started');
  return part;
}
