import { expect, test } from '@jest/globals';
import { startE2e } from '../support/e2e/start-e2e.ts';

const e2e = startE2e();

test('a page loads at most 8 files, and caches may store all its assets', async () => {
  const { page } = await e2e.openSignedIn();
  for (const path of ['/workspaces', '/console', '/console/guide', '/nowhere']) {
    const caching: (string | undefined)[] = [];
    page.on('response', (response) => caching.push(response.headers()['cache-control']));
    await page.goto(e2e.testApp.origin + path, { waitUntil: 'networkidle' });
    expect(caching.length).toBeLessThanOrEqual(8);
    // Only the page itself and `/auth/session` are not assets.
    expect(caching.filter((value) => !value?.includes('immutable')).length).toBeLessThanOrEqual(2);
    page.removeAllListeners('response');
  }
});
