import { expect, test } from '@jest/globals';
import { startTestApp } from '../support/test-app.ts';
import { startE2e } from '../support/e2e/start-e2e.ts';
import { signInAtService, signIn } from '../support/e2e/watched-page.ts';

const e2e = startE2e();

test.each([true, false])('the user can sign in and sign out (JavaScript: %s)', async (javaScriptEnabled) => {
  const { page, browserErrors } = await e2e.open({ javaScriptEnabled });
  await page.goto(e2e.testApp.origin);
  await page.getByRole('link', { name: 'Sign in' }).click();
  await page.waitForURL((url) => url.origin === e2e.testApp.serviceOrigin);
  await signInAtService(page);
  await page.waitForURL(`${e2e.testApp.origin}/workspaces`);
  expect(await page.getByRole('heading', { level: 2 }).count()).toBe(25);

  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.waitForURL(`${e2e.testApp.origin}/`);
  await page.goto(`${e2e.testApp.origin}/workspaces`);
  expect(new URL(page.url()).origin).toBe(e2e.testApp.serviceOrigin);
  expect(browserErrors).toEqual([]);
});

test('a script in a page can use the API but finds no token', async () => {
  const { page } = await e2e.open();
  await signIn(page, e2e.testApp);
  const result = await page.evaluate(`(async () => {
    const response = await fetch('/api/public/v1/workspaces?limit=2');
    const { value } = await response.json();
    const stored = [document.cookie, ...Object.values(localStorage), ...Object.values(sessionStorage)];
    return { status: response.status, via: response.headers.get('via'), items: value.length, stored };
  })()`);
  expect(result).toEqual({ status: 200, via: '1.1 cloakroom', items: 2, stored: [''] });
});

test('with SameSite=Strict cookies, sign-in leads to the requested page', async () => {
  await using strict = await startTestApp({ COOKIE_SAMESITE: 'strict' });
  const { page } = await e2e.open({ javaScriptEnabled: false });
  await page.goto(`${strict.origin}/workspaces?page=2`);
  await signInAtService(page);
  await page.waitForURL(`${strict.origin}/workspaces?page=2`);
  expect(await page.getByRole('heading', { level: 2 }).count()).toBe(25);
});

test('after sign-in, the browser does not reuse API responses cached for the previous user', async () => {
  const { page, context } = await e2e.openSignedIn('/workspaces');
  let count = 0;
  e2e.respondTo(/^\/api\/public\/v1\/mine$/, (res) => {
    count += 1;
    res.setHeader('cache-control', 'max-age=600');
    res.end(`response ${count}`);
  });
  const request = async (cache = 'default') =>
    page.evaluate<string>(
      `fetch('/api/public/v1/mine', { cache: '${cache}' }).then((response) => response.text())`,
    );
  expect(await request()).toBe('response 1');
  expect(await request()).toBe('response 1'); // from the browser cache

  const cookies = await context.cookies();
  await context.clearCookies(); // as if the session had expired
  await signIn(page, e2e.testApp);
  // Restore the first cookie, so that any response still in the cache would match `Vary: Cookie`.
  await context.clearCookies();
  await context.addCookies(cookies);
  expect(await request('force-cache')).toBe('response 2');
});
