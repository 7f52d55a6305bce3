import { expect, test } from '@jest/globals';
import { startE2e } from '../support/e2e/start-e2e.ts';

const e2e = startE2e();

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
  await page.goto(`${e2e.testApp.origin}/auth/login`);
  await page.getByLabel('User name').fill('demo');
  await page.getByLabel('Password').fill('demo');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Allow' }).click();
  await page.waitForURL(`${e2e.testApp.origin}/workspaces`);
  // With the cookie of before, `Vary: Cookie` does not keep the browser from its cache.
  await context.clearCookies();
  await context.addCookies(cookies);
  expect(await ask('force-cache')).toBe('response 2');
});
