import type { Browser, BrowserContext, Page } from 'playwright-core';
import type { TestApp } from '../test-app.ts';
import { eventually } from '../eventually.ts';

/** The browser settings under which a page is shown. */
export interface Look {
  readonly javaScriptEnabled?: boolean;
  readonly width?: 360 | 1280;
  readonly colorScheme?: 'light' | 'dark';
}

/** A page in its own browser profile, with the errors that the browser reported. */
export interface WatchedPage extends AsyncDisposable {
  readonly context: BrowserContext;
  readonly page: Page;
  readonly look: Look;
  /** Console and script errors, including violations of the content security policy. */
  readonly browserErrors: string[];
}

/** Reports violations to the test through the browser's own event (Content Security Policy Level 3, section 5.1). */
const REPORT_VIOLATIONS = `document.addEventListener('securitypolicyviolation', (event) => {
  reportViolation('violates ' + event.effectiveDirective + ': ' + event.blockedURI);
});`;

/** Marks the document once the page has notified other tabs, which is the last step after its first session response. */
const NOTE_SESSION = `{
  const tell = BroadcastChannel.prototype.postMessage;
  BroadcastChannel.prototype.postMessage = function (message) {
    if (message.kind === 'used') document.documentElement.dataset.sessionKnown = '';
    tell.call(this, message);
  };
}`;

/** Shorter than the test timeout, so that Playwright reports the missing element. */
const ACTION_TIMEOUT_MS = 90_000;

const HEIGHTS = { 360: 740, 1280: 860 };

/** Covers every pair of values of width, colour scheme and JavaScript (pairwise coverage). */
export const LOOKS: readonly Required<Look>[] = [
  { javaScriptEnabled: true, width: 1280, colorScheme: 'light' },
  { javaScriptEnabled: true, width: 360, colorScheme: 'dark' },
  { javaScriptEnabled: false, width: 1280, colorScheme: 'dark' },
  { javaScriptEnabled: false, width: 360, colorScheme: 'light' },
];

/** Opens an empty page in its own profile and watches all pages in the profile. */
export async function openPage(chromium: Browser, look: Look = {}): Promise<WatchedPage> {
  const { width = 1280, colorScheme = 'light', javaScriptEnabled = true } = look;
  const viewport = { width, height: HEIGHTS[width] };
  const context = await chromium.newContext({ viewport, colorScheme, javaScriptEnabled });
  context.setDefaultTimeout(ACTION_TIMEOUT_MS);
  const browserErrors: string[] = [];
  context.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') browserErrors.push(message.text());
  });
  context.on('weberror', (error) => browserErrors.push(error.error().message));
  // The console might miss a violation, so a script in the page also reports violations.
  await context.exposeBinding('reportViolation', (_source, violation: string) =>
    browserErrors.push(violation),
  );
  await context.addInitScript(REPORT_VIOLATIONS);
  await context.addInitScript(NOTE_SESSION);
  return {
    context,
    look,
    page: await context.newPage(),
    browserErrors,
    [Symbol.asyncDispose]: async () => context.close(),
  };
}

/**
 * Opens one page for each look and reuses it, because a new profile, process and cache for each test would take three times as
 * long. Each test gets a signed-out page with no other tabs, storage, permissions, routes or errors. A stopped clock,
 * listeners and exposed functions remain, so a test that uses them needs its own profile.
 */
export function openSharedPage(chromium: Browser): (look?: Look) => Promise<WatchedPage> {
  const opened = new Map<string, Promise<WatchedPage>>();
  return async (look = {}) => {
    const key = JSON.stringify(look);
    const opening = opened.get(key) ?? openPage(chromium, look);
    opened.set(key, opening);
    const watched = await opening;
    await reset(watched);
    return { ...watched, [Symbol.asyncDispose]: async () => {} };
  };
}

async function reset(watched: WatchedPage): Promise<void> {
  const { context, page, look, browserErrors } = watched;
  for (const other of context.pages()) if (other !== page) await other.close();
  await context.setOffline(false);
  await context.unrouteAll();
  await page.unrouteAll();
  await context.clearPermissions();
  await context.clearCookies();
  await page.emulateMedia({ reducedMotion: null });
  await changeLook(watched, { width: look.width ?? 1280, colorScheme: look.colorScheme ?? 'light' });
  // Stop loading and change the URL so that the next navigation loads a page even if only the fragment differs.
  if (page.url() !== 'about:blank')
    await page.evaluate("stop(), sessionStorage.clear(), history.replaceState(null, '', '/')");
  browserErrors.length = 0;
}

/** Resolves once the page has processed its first session response. */
export async function waitForSessionStatus(page: Page): Promise<void> {
  await page.locator('html[data-session-known]').waitFor();
}

/** Changes the look of an open page without reloading it. */
export async function changeLook(
  { page }: WatchedPage,
  { width, colorScheme }: Required<Omit<Look, 'javaScriptEnabled'>>,
): Promise<void> {
  await page.emulateMedia({ colorScheme });
  await resize(page, { width, height: HEIGHTS[width] });
}

/** Resizes an open page. Resolves once the page's scripts see the new size. */
export async function resize(page: Page, size: { width: number; height: number }): Promise<void> {
  await page.setViewportSize(size);
  await eventually(async () => page.evaluate<boolean>(`innerWidth === ${size.width}`));
}

/** Signs in as `demo` through the pages of the local service, with or without JavaScript, and returns to `path`. */
export async function signIn(page: Page, testApp: TestApp, path = '/workspaces'): Promise<void> {
  await page.goto(`${testApp.origin}/auth/login?return_to=${encodeURIComponent(path)}`);
  await signInAtService(page);
  await page.waitForURL(testApp.origin + path);
}

/** Signs in at the service as `demo` if necessary, and grants the scopes. */
export async function signInAtService(page: Page): Promise<void> {
  const userName = page.getByLabel('User name');
  const allow = page.getByRole('button', { name: 'Allow', exact: true });
  await userName.or(allow).waitFor();
  if (await userName.isVisible()) {
    await userName.fill('demo');
    await page.getByLabel('Password').fill('demo');
    await page.getByRole('button', { name: 'Sign in' }).click();
  }
  await allow.click();
}
