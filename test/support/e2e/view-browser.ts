import type { BrowserContext, Page, Request, Response } from 'playwright-core';
import { startChromium } from '../../../scripts/chromium.mjs';
import { useFixture } from '../fixtures.ts';
import { startTestApp, type TestApp } from '../test-app.ts';
import type { View } from './pages.ts';
import { cookiesOfSignedIn } from './start-e2e.ts';
import { openInOnePage, openPage, type Look, type WatchedPage } from './watched-page.ts';

/** A view in a browser of its own. */
export interface ShownView extends WatchedPage {
  readonly testApp: TestApp;
  readonly status: number;
  /** The status of the requests of its scripts, where they are meant to fail. */
  readonly failing?: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** As the server sent it. */
  readonly html: string;
  /** Requests of our own pages to other origins. */
  readonly askedElsewhere: string[];
  /** An empty page without a policy, for all views. */
  readonly empty: Page;
}

/**
 * Starts Chromium for all tests of a file, and test apps with a signed-in user as views need them. `inOnePage` shows all views in
 * one page, for views that leave nothing behind in it.
 */
export function useViewBrowser({ inOnePage = false } = {}) {
  return useFixture(async () => openViewBrowser(inOnePage));
}

async function openViewBrowser(inOnePage: boolean) {
  const chromium = await startChromium();
  const empty = await chromium.newPage();
  const open = inOnePage ? openInOnePage(chromium) : async (look: Look) => openPage(chromium, look);
  const apps = new Map<string, ReturnType<typeof signedInApp>>();
  const appOf = async ({ env = {} }: View) => {
    const key = JSON.stringify(env);
    const started = apps.get(key) ?? signedInApp(env);
    apps.set(key, started);
    return started;
  };

  return {
    /** Opens a view; `prepare` runs before the first request. */
    async show(
      view: View,
      look: Look = {},
      prepare: (context: BrowserContext) => Promise<void> = async () => {},
    ): Promise<ShownView> {
      const { testApp, cookies } = await appOf(view);
      testApp.intercept = view.service ?? (() => false);
      const watched = await (view.stopsClock === true ? openPage(chromium, look) : open(look));
      const { context, page } = watched;
      if (view.signedIn) await context.addCookies(cookies);
      await prepare(context);

      const askedElsewhere: string[] = [];
      const listen = (request: Request) => {
        if (isElsewhere(request, testApp)) askedElsewhere.push(request.url());
      };
      page.on('request', listen);
      const shown = page.waitForResponse((response) => isShown(response, testApp.origin + view.path));
      const reach = view.reach ?? (async () => void (await page.goto(testApp.origin + view.path)));
      const [response] = await Promise.all([shown, reach(page, testApp, view.path)]);
      const html = await response.text();
      await page.waitForLoadState();
      return {
        ...watched,
        testApp,
        status: response.status(),
        failing: view.failing,
        headers: await response.allHeaders(),
        html,
        askedElsewhere,
        empty,
        [Symbol.asyncDispose]: async () => {
          page.off('request', listen);
          await watched[Symbol.asyncDispose]();
        },
      };
    },
    async [Symbol.asyncDispose]() {
      await chromium.close();
      for (const started of apps.values()) await (await started).testApp[Symbol.asyncDispose]();
    },
  };
}

async function signedInApp(env: Readonly<Record<string, string>>) {
  const testApp = await startTestApp(env);
  return { testApp, cookies: await cookiesOfSignedIn(testApp) };
}

/** The document at the view's path; what its query is, the way there decides. */
function isShown(response: Response, address: string): boolean {
  const [shown, wanted] = [new URL(response.url()), new URL(address)];
  const isRedirect = response.status() >= 300 && response.status() < 400;
  return (
    response.request().isNavigationRequest() &&
    !isRedirect &&
    shown.origin === wanted.origin &&
    shown.pathname === wanted.pathname
  );
}

/** Only a navigation, to sign in at the service, may leave our origin. */
function isElsewhere(request: Request, testApp: TestApp): boolean {
  const { origin } = new URL(request.url());
  if (origin === testApp.origin) return false;
  if (request.isNavigationRequest()) return origin !== testApp.serviceOrigin;
  return request.frame().url().startsWith(testApp.origin);
}
