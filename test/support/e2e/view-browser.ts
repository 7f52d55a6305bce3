import type { BrowserContext, Page, Request, Response } from 'playwright-core';
import { startChromium } from '../../../scripts/chromium.mjs';
import { useFixture } from '../fixtures.ts';
import { startTestApp, type TestApp } from '../test-app.ts';
import type { View } from './pages.ts';
import { signInCookies } from './start-e2e.ts';
import { openSharedPage, openPage, type Look, type WatchedPage } from './watched-page.ts';

/** A view shown in the browser. */
export interface ShownView extends WatchedPage {
  readonly testApp: TestApp;
  readonly status: number;
  /** The expected status of script requests that are meant to fail. */
  readonly failingRequestStatus?: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** The document as the server sent it. */
  readonly html: string;
  /** Requests from the page to other origins. */
  readonly crossOriginRequests: string[];
  /** An empty page without a content security policy, shared by all views. */
  readonly blankPage: Page;
}

/**
 * Starts Chromium for all tests in a file. Starts a test app with a signed-in user when a view needs one. With `sharePage`, views
 * share one page for each look, so a view must not leave state in the page.
 */
export function useViewBrowser({ sharePage = false } = {}) {
  return useFixture(async () => openViewBrowser(sharePage));
}

async function openViewBrowser(sharePage: boolean) {
  const chromium = await startChromium();
  const blankPage = await chromium.newPage();
  const open = sharePage ? openSharedPage(chromium) : async (look: Look) => openPage(chromium, look);
  const apps = new Map<string, ReturnType<typeof signedInApp>>();
  const appOf = async ({ env = {} }: View) => {
    const key = JSON.stringify(env);
    const started = apps.get(key) ?? signedInApp(env);
    apps.set(key, started);
    return started;
  };

  return {
    /** Opens a view. `prepare` runs before the first request. */
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

      const crossOriginRequests: string[] = [];
      const listen = (request: Request) => {
        if (isElsewhere(request, testApp)) crossOriginRequests.push(request.url());
      };
      page.on('request', listen);
      const shown = page.waitForResponse((response) => isShown(response, testApp.origin + view.path));
      const navigate = view.navigate ?? (async () => void (await page.goto(testApp.origin + view.path)));
      const [response] = await Promise.all([shown, navigate(page, testApp, view.path)]);
      const html = await response.text();
      await page.waitForLoadState();
      return {
        ...watched,
        testApp,
        status: response.status(),
        failingRequestStatus: view.failingRequestStatus,
        headers: await response.allHeaders(),
        html,
        crossOriginRequests,
        blankPage,
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
  return { testApp, cookies: await signInCookies(testApp) };
}

/** Returns whether this response is the document at the view's path, with any query. */
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

/** Returns whether a request from the app goes to another origin. Ignores navigations to the service, where users sign in. */
function isElsewhere(request: Request, testApp: TestApp): boolean {
  const { origin } = new URL(request.url());
  if (origin === testApp.origin) return false;
  if (request.isNavigationRequest()) return origin !== testApp.serviceOrigin;
  return request.frame().url().startsWith(testApp.origin);
}
