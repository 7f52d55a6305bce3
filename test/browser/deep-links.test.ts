import { expect, test } from '@jest/globals';
import { WORKSPACES_PATH } from '../support/constants.ts';
import { startE2e } from '../support/e2e/start-e2e.ts';
import { signInAtService } from '../support/e2e/watched-page.ts';

/** Links that a user might open from a chat or a bookmark. */
const LINKS = [
  '/workspaces?page=2&find=caf%C3%A9%20%26%20%22tea%22%20%231%2B1',
  '/workspaces/%E2%98%95?x=%252F&y=a+b&z=/auth/login?return_to=%2F',
];

const e2e = startE2e();

test.each(LINKS.flatMap((link) => [true, false].map((javaScriptEnabled) => ({ link, javaScriptEnabled }))))(
  'sign-in returns the user to the linked page: %j',
  async ({ link, javaScriptEnabled }) => {
    const { page } = await e2e.open({ javaScriptEnabled });
    await page.goto(e2e.testApp.origin + link);
    expect(new URL(page.url()).origin).toBe(e2e.testApp.serviceOrigin);
    await signInAtService(page);
    await page.waitForURL((url) => url.origin === e2e.testApp.origin);
    expect(page.url()).toBe(e2e.testApp.origin + link);
  },
);

test('after a 403 from the service, signing in again returns the user to the same page', async () => {
  const place = '/workspaces?limit=10&page=1';
  const { page } = await e2e.openSignedIn();
  e2e.respondTo(new RegExp(`^${WORKSPACES_PATH}`), (res) => res.writeHead(403).end('{}'));
  await page.goto(e2e.testApp.origin + place);
  const again = page.getByRole('link', { name: 'Sign in again' });
  await again.waitFor();
  e2e.testApp.intercept = () => false;
  await again.click();
  await signInAtService(page);
  await page.waitForURL(e2e.testApp.origin + place);
  expect(await page.locator('[data-items] li').count()).toBe(10);
});
