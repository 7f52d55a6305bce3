import { describe, expect, test } from '@jest/globals';
import { Browser } from '../support/browser.ts';
import { submitSignIn } from '../support/test-app.ts';
import { useTestApp } from '../support/fixtures.ts';
import { send, statusesOf } from './request-text.ts';

const testApp = useTestApp();

/** Signs in with a percent-encoded `return_to`. Returns the `Location` header of the callback response. */
async function locationAfterSignIn(returnTo: string): Promise<string | null> {
  const browser = new Browser();
  const signInPage = await browser.open(`${testApp.origin}/auth/login?return_to=${returnTo}`);
  const consentPage = await submitSignIn(browser, signInPage);
  const { headers } = await browser.press(consentPage, 'Allow');
  const { headers: last } = await browser.fetch(headers.get('location') ?? '');
  expect(last.getSetCookie().join()).not.toContain('hostile');
  return last.get('location');
}

describe('an off-site return_to is replaced by /workspaces', () => {
  const cases: [flaw: string, returnTo: string][] = [
    ['CVE-2017-1000070 bitly/oauth2_proxy: open redirect (absolute URL)', 'https://hostile.test/'],
    ['CVE-2020-5233 oauth2_proxy: open redirect (scheme-relative URL)', '//hostile.test/'],
    ['CVE-2020-11053 oauth2-proxy: open redirect (whitespace between slashes)', '/%0a/hostile.test/'],
    ['CVE-2020-4037 oauth2-proxy: open redirect (dots between slashes)', '/.//hostile.test/'],
    ['CVE-2019-14857 mod_auth_openidc: open redirect (three slashes)', '///hostile.test/logout.html'],
    ['CVE-2019-20479 mod_auth_openidc: open redirect (slash, backslash)', '/%5chostile.test/logout.html'],
    ['CVE-2022-23527 mod_auth_openidc: open redirect (slash, tab)', '/%09/hostile.test/'],
    ['CVE-2019-3877 mod_auth_mellon: open redirect (backslashes)', '%5c%5chostile.test/'],
    ['CVE-2019-13038 mod_auth_mellon: open redirect (scheme, no slashes)', 'http:hostile.test'],
    ['mod_auth_openidc#68 mod_auth_openidc: a line break injects headers', '/a%0d%0aSet-Cookie:%20hostile=1'],
    ['CVE-2024-29041 Express: open redirect (malformed URL)', 'http://hostile.test%5c@localhost/'],
  ];

  test.each(cases)('%s', async (_flaw, returnTo) => {
    expect(await locationAfterSignIn(returnTo)).toBe('/workspaces');
  });

  test('CVE-2021-21291 oauth2-proxy: open redirect (similar host)', async () => {
    const { host } = new URL(testApp.origin);
    const { origin } = testApp;
    for (const hostile of [`http://hostile${host}/`, `${origin}.hostile.test/`, `${origin}@hostile.test/`])
      expect(await locationAfterSignIn(encodeURIComponent(hostile))).toBe('/workspaces');
  });

  test('mod_auth_openidc#672 mod_auth_openidc: open redirect (backslash in host)', async () => {
    const { host } = new URL(testApp.origin);
    expect(await locationAfterSignIn(encodeURIComponent(`http://hostile.test\\.${host}/`))).toBe(
      '/workspaces',
    );
  });
});

test('GHSA-7p99-3798-f85c express-openid-connect: open redirect (requested path)', async () => {
  for (const target of ['//hostile.test/workspaces', '/workspaces//hostile.test', '/%5c/hostile.test/']) {
    const response = await send(testApp, { target });
    expect(response).not.toMatch(/\r\nlocation: (?!\/auth\/login\?return_to=%2Fworkspaces)/i);
  }
});

test('CVE-2024-43796 Express: XSS in the redirect page', async () => {
  const response = await send(testApp, { target: '/workspaces?x="><script>alert(1)</script>' });
  expect(statusesOf(response)).toEqual([303]);
  expect(response).not.toContain('<script>');
});

test('CVE-2024-43800 serve-static: XSS in the folder redirect page', async () => {
  const response = await send(testApp, { target: '/assets/..%2f<script>alert(1)</script>' });
  expect(statusesOf(response)[0]).toBeGreaterThanOrEqual(400);
  expect(response).not.toContain('<script>');
});
