import { describe, expect, test } from '@jest/globals';
import { startTestApp } from '../support/test-app.ts';
import { startE2e } from '../support/e2e/start-e2e.ts';
import { passService, signIn } from '../support/e2e/watched-page.ts';

const e2e = startE2e();

describe.each([{ javaScriptEnabled: true }, { javaScriptEnabled: false }])(
  'in Chromium with %j',
  (options) => {
    test('a person signs in, looks through the workspaces and signs out', async () => {
      await using watched = await e2e.open(options);
      const { page } = watched;
      await page.goto(e2e.testApp.origin);
      await page.getByRole('link', { name: 'Sign in' }).click();
      await page.waitForURL((url) => url.origin === e2e.testApp.serviceOrigin);
      await passService(page);
      await page.waitForURL(`${e2e.testApp.origin}/workspaces`);
      const names = async () => page.getByRole('heading', { level: 2 }).allInnerTexts();
      const first = await names();
      expect(first).toHaveLength(25);

      await page.getByRole('link', { name: /next/i }).click();
      await page.waitForURL(/page=2/);
      const second = await names();
      expect(second).toHaveLength(25);
      expect(first).not.toContain(second[0]);

      await page.getByRole('link', { name: /previous/i }).click();
      await page.waitForURL((url) => url.searchParams.get('page') !== '2');
      expect(await names()).toEqual(first);

      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.waitForURL(`${e2e.testApp.origin}/`);
      await page.goto(`${e2e.testApp.origin}/workspaces`);
      expect(new URL(page.url()).origin).toBe(e2e.testApp.serviceOrigin);
      expect(watched.complaints).toEqual([]);
    });
  },
);

test('a script of a page calls the API and finds no token', async () => {
  await using watched = await e2e.open();
  await signIn(watched.page, e2e.testApp);
  const called = await watched.page.evaluate(`(async () => {
    const answer = await fetch('/api/public/v1/workspaces?limit=2');
    const { value } = await answer.json();
    const stored = [document.cookie, ...Object.values(localStorage), ...Object.values(sessionStorage)];
    return { status: answer.status, via: answer.headers.get('via'), items: value.length, stored };
  })()`);
  expect(called).toEqual({ status: 200, via: '1.1 cloakroom', items: 2, stored: [''] });
});

test('with a strict cookie sign-in ends signed in', async () => {
  await using strict = await startTestApp({ COOKIE_SAMESITE: 'strict' });
  await using watched = await e2e.open({ javaScriptEnabled: false });
  const { page } = watched;
  await page.goto(`${strict.origin}/workspaces?page=2`);
  await passService(page);
  await page.waitForURL(`${strict.origin}/workspaces?page=2`);
  expect(await page.getByRole('heading', { level: 2 }).count()).toBe(25);
});

test('a browser that signs in has no API response of the user before', async () => {
  await using watched = await e2e.openSignedIn('/workspaces');
  const { page, context } = watched;
  let count = 0;
  e2e.testApp.intercept = (req, res) => {
    if (req.url !== '/api/public/v1/mine') return false;
    count += 1;
    res.setHeader('cache-control', 'max-age=600');
    res.end(`response ${count}`);
    return true;
  };
  const ask = async (cache = 'default') =>
    page.evaluate<string>(
      `fetch('/api/public/v1/mine', { cache: '${cache}' }).then((response) => response.text())`,
    );
  expect(await ask()).toBe('response 1');
  expect(await ask()).toBe('response 1'); // from the cache of the browser

  const cookies = await context.cookies();
  await context.clearCookies(); // the session has expired
  await signIn(page, e2e.testApp);
  // With the cookie of before, `Vary: Cookie` does not keep the browser from its cache.
  await context.clearCookies();
  await context.addCookies(cookies);
  expect(await ask('force-cache')).toBe('response 2');
});
