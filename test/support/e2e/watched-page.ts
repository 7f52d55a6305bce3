import type { Browser, BrowserContext, Page } from 'playwright-core';
import type { House } from '../house.ts';

/** How somebody looks at the pages. */
export interface Look {
  readonly javaScriptEnabled?: boolean;
  readonly width?: 360 | 1280;
  readonly colorScheme?: 'light' | 'dark';
}

/** A page in a browser profile of its own, and what the browser had to complain about. */
export interface WatchedPage extends AsyncDisposable {
  readonly context: BrowserContext;
  readonly page: Page;
  readonly look: Look;
  /** Errors of the console and of scripts, violations of the content security policy among them. */
  readonly complaints: string[];
}

/** Told to the test by the browser's own event (Content Security Policy Level 3, section 5.1). */
const REPORT_VIOLATIONS = `document.addEventListener('securitypolicyviolation', (event) => {
  reportViolation('violates ' + event.effectiveDirective + ': ' + event.blockedURI);
});`;

/** A page tells other tabs of its session once it knows it: that is the last thing that follows from the first answer. */
const NOTE_SESSION = `{
  const tell = BroadcastChannel.prototype.postMessage;
  BroadcastChannel.prototype.postMessage = function (message) {
    if (message.kind === 'alive') document.documentElement.dataset.knowsItsSession = '';
    tell.call(this, message);
  };
}`;

/** Shorter than a test may take, so that it can say what did not come. */
const PATIENCE_MS = 90_000;

const HEIGHTS = { 360: 740, 1280: 860 };

/** With and without JavaScript, on a phone and on a desk, in the light and in the dark. */
export const LOOKS: readonly Required<Look>[] = [true, false].flatMap((javaScriptEnabled) =>
  ([360, 1280] as const).flatMap((width) =>
    (['light', 'dark'] as const).map((colorScheme) => ({ javaScriptEnabled, width, colorScheme })),
  ),
);

/** Opens an empty page in a profile of its own; every page that it opens later is watched as well. */
export async function openPage(chromium: Browser, look: Look = {}): Promise<WatchedPage> {
  const { width = 1280, colorScheme = 'light', javaScriptEnabled = true } = look;
  const viewport = { width, height: HEIGHTS[width] };
  const context = await chromium.newContext({ viewport, colorScheme, javaScriptEnabled });
  context.setDefaultTimeout(PATIENCE_MS);
  const complaints: string[] = [];
  context.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  context.on('weberror', (error) => complaints.push(error.error().message));
  // Beside the console, which might leave one out; it has no say where there are no scripts.
  await context.exposeBinding('reportViolation', (_source, violation: string) => complaints.push(violation));
  await context.addInitScript(REPORT_VIOLATIONS);
  await context.addInitScript(NOTE_SESSION);
  return {
    context,
    look,
    page: await context.newPage(),
    complaints,
    [Symbol.asyncDispose]: async () => context.close(),
  };
}

/** Resolves once the page has heard of its session and taken that in: an answer that the browser has got may still lie there. */
export async function knowsItsSession(page: Page): Promise<void> {
  await page.locator('html[data-knows-its-session]').waitFor();
}

/** Looks at an open page in another way, once colours have passed over into others; its scripts stay as they are. */
export async function lookAgain(
  { page }: WatchedPage,
  { width, colorScheme }: Required<Omit<Look, 'javaScriptEnabled'>>,
): Promise<void> {
  await page.setViewportSize({ width, height: HEIGHTS[width] });
  await page.emulateMedia({ colorScheme });
  await page.evaluate(
    'Promise.allSettled(document.getAnimations().map((each) => each instanceof CSSTransition && each.finished))',
  );
}

/**
 * Signs a page in as `demo` at the local service, through its pages as a person does, and comes back to `path`.
 * With JavaScript or without.
 */
export async function signIn(page: Page, house: House, path = '/workspaces'): Promise<void> {
  await page.goto(`${house.origin}/auth/login?return_to=${encodeURIComponent(path)}`);
  await passService(page);
  await page.waitForURL(house.origin + path);
}

/** Passes the service's pages as `demo`, whom it may remember, and allows what is asked for. */
export async function passService(page: Page): Promise<void> {
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
