import { expect, test } from '@jest/globals';
import { Browser, type Page } from '../../support/browser.ts';
import { submitSignIn } from '../../support/test-app.ts';
import { send } from '../../support/fleet/requests.ts';
import type { LogLine } from '../../support/fleet/cloakroom.ts';
import { startBalancedFleet, type BalancedFleet } from '../../support/fleet/load-balancer.ts';
import { ME_PATH } from '../../support/fleet/service.ts';
import { eventually } from '../../support/eventually.ts';
import { useFixture } from '../../support/fixtures.ts';

const LIST = '/api/public/v1/workspaces?limit=2';

/** Returns whether a log line is about a request from the user, not from HAProxy or another test. */
const isOfUser = ({ msg, path }: LogLine) =>
  msg === 'request' && !['/readyz', '/healthz', ME_PATH].includes(String(path));

/** Returns the URL of a link, found by its `rel` or its text. */
function linkOf(page: Page, name: string): URL {
  const link = [...page.text.matchAll(/<a\b[^>]*href="([^"]+)"[^>]*>[^<]*/g)].find(([tag]) =>
    tag.includes(name),
  );
  if (link?.[1] === undefined) throw new Error(`no link "${name}" at ${page.url.href}:\n${page.text}`);
  return new URL(link[1].replaceAll('&amp;', '&'), page.url);
}

/** Opens the landing page and signs in. */
async function signIn(browser: Browser, url: string): Promise<Page> {
  const landing = await browser.open(url);
  const consent = await submitSignIn(browser, await browser.open(linkOf(landing, 'Sign in')));
  const back = await browser.follow(await browser.press(consent, 'Allow'));
  const bounce = /http-equiv="refresh" content="0;url=([^"]+)"/.exec(back.text)?.[1];
  return bounce === undefined ? back : browser.open(new URL(bounce, back.url));
}

const SERVICE = { LOCAL_SERVICE_ROTATE_REFRESH: 'true', LOCAL_SERVICE_ACCESS_TOKEN_SECONDS: '2' };

const fleet = useFixture(async () => startBalancedFleet({}, SERVICE));

async function expectUserJourney(given: BalancedFleet): Promise<void> {
  const { url } = given;
  const browser = new Browser();
  const first = await signIn(browser, url);
  expect(first.url.href).toBe(`${url}/workspaces`);
  expect(first.text).toContain('1–25');

  const second = await browser.open(linkOf(first, 'rel="next"'));
  expect(second.text).toContain('26–50');
  const again = await browser.open(linkOf(second, 'rel="prev"'));
  expect(again.text).toContain('1–25');
  const session = await browser.open(`${url}/auth/session`);
  expect(JSON.parse(session.text)).toMatchObject({ signedIn: true });
  const list = await browser.open(url + LIST);
  expect([list.status, list.headers.get('via')]).toEqual([200, '1.1 cloakroom']);

  const cookie = `cloakroom=${await browser.cookie(url, 'cloakroom')}`;
  const out = await browser.follow(await browser.press(again, 'Sign out'));
  expect(linkOf(out, 'Sign in').pathname).toBe('/auth/login');
  for (const each of given.processes) {
    expect(each.logged().filter(isOfUser).length).toBeGreaterThan(0);
    expect(await send(each.url, cookie, { path: LIST })).toMatchObject({ status: 401 });
  }
  expect(given.haproxyLog()).toMatch(/GET \/auth\/callback/);
  expect(given.haproxyLog()).not.toMatch(/code=|state=/);
}

test('with three processes behind a load balancer, a user can sign in, read workspaces, use the API and sign out', async () => {
  await expectUserJourney(fleet);
});

test('with COOKIE_SAMESITE=strict, a user can sign in and use Cloakroom behind a load balancer', async () => {
  await using strict = await startBalancedFleet({ COOKIE_SAMESITE: 'strict' }, SERVICE);
  await expectUserJourney(strict);
});

test('behind a load balancer, Cloakroom does not trust an X-Forwarded-For header from the browser', async () => {
  const path = '/claimed-address';
  await send(fleet.url, '', { path, headers: { 'x-forwarded-for': '203.0.113.9' } });
  const lines = () =>
    fleet.processes.flatMap((each) => each.logged()).filter((line) => line['path'] === path);
  await eventually(async () => lines().length > 0);
  expect(lines()).toMatchObject([{ client: '127.0.0.1' }]);
});

test('while Redis is down, the 503 comes from Cloakroom, not from the load balancer', async () => {
  // Use a separate fleet, because the load balancer does not immediately notice that the processes are ready again.
  await using own = await startBalancedFleet({}, SERVICE);
  const { cookie } = await own.createSession();
  process.kill(own.redisPid, 'SIGSTOP');
  try {
    await eventually(async () => {
      const { code } = await send(own.url, cookie);
      expect(code).toBe('session_store_unavailable');
      return own.haproxyLog().includes(' unready/');
    });
  } finally {
    process.kill(own.redisPid, 'SIGCONT');
  }
  for (const url of [...own.processes.map((each) => each.url), own.url]) {
    await eventually(async () => (await send(url, cookie)).status === 200);
  }
});
