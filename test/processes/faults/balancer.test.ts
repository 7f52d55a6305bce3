import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Browser } from '../../support/browser.ts';
import type { Page } from '../../support/browser.ts';
import { passSignIn } from '../../support/test-app.ts';
import { send, closeConnections, startLoad, tally } from '../../support/fleet/requests.ts';
import type { LogLine } from '../../support/fleet/cloakroom.ts';
import { startBalancedFleet } from '../../support/fleet/load-balancer.ts';
import type { BalancedFleet } from '../../support/fleet/load-balancer.ts';
import { ME_PATH } from '../../support/fleet/service.ts';
import { eventually } from '../../support/eventually.ts';

const LIST = '/api/public/v1/workspaces?limit=2';

/** A request of the person's, not one of the balancer's nor of another test's. */
const isVisit = ({ msg, path }: LogLine) =>
  msg === 'request' && !['/readyz', '/healthz', ME_PATH].includes(String(path));

/** Where a link of a page leads, by its `rel` or its words. */
function linkOf(page: Page, mark: string): URL {
  const link = [...page.text.matchAll(/<a\b[^>]*href="([^"]+)"[^>]*>[^<]*/g)].find(([tag]) =>
    tag.includes(mark),
  );
  if (link?.[1] === undefined) throw new Error(`no link "${mark}" at ${page.url.href}:\n${page.text}`);
  return new URL(link[1].replaceAll('&amp;', '&'), page.url);
}

/** From the first page to the workspaces, as somebody goes who was never here. */
async function signIn(browser: Browser, url: string): Promise<Page> {
  const landing = await browser.open(url);
  const consent = await passSignIn(browser, await browser.open(linkOf(landing, 'Sign in')));
  const back = await browser.follow(await browser.press(consent, 'Allow'));
  const bounce = /http-equiv="refresh" content="0;url=([^"]+)"/.exec(back.text)?.[1];
  return bounce === undefined ? back : browser.open(new URL(bounce, back.url));
}

const SERVICE = { LOCAL_SERVICE_ROTATE_REFRESH: 'true', LOCAL_SERVICE_ACCESS_TOKEN_SECONDS: '2' };

let fleet: BalancedFleet;
beforeAll(async () => {
  fleet = await startBalancedFleet({}, SERVICE);
});
afterAll(async () => {
  await closeConnections();
  await fleet[Symbol.asyncDispose]();
});

/** A person signs in, looks through the workspaces, calls the API and signs out. */
async function expectMainWay(given: BalancedFleet): Promise<void> {
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
    expect(each.logged().filter(isVisit).length).toBeGreaterThan(0);
    expect(await send(each.url, cookie, { path: LIST })).toMatchObject({ status: 401 });
  }
  expect(given.balancer.logged()).toMatch(/GET \/auth\/callback/);
  expect(given.balancer.logged()).not.toMatch(/code=|state=/);
}

test('with three processes in turn a person signs in, looks through the workspaces, calls the API and signs out', async () => {
  await expectMainWay(fleet);
});

test('with three processes in turn a person whose cookie is SameSite=strict signs in, too', async () => {
  await using strict = await startBalancedFleet({ COOKIE_SAMESITE: 'strict' }, SERVICE);
  await expectMainWay(strict);
});

test('what a browser claims of its address is not believed', async () => {
  const path = '/claimed-address';
  await send(fleet.url, '', { path, headers: { 'x-forwarded-for': '203.0.113.9' } });
  const lines = () =>
    fleet.processes.flatMap((each) => each.logged()).filter((line) => line['path'] === path);
  await eventually(async () => lines().length > 0);
  expect(lines()).toMatchObject([{ client: '127.0.0.1' }]);
});

test('an expiring token is renewed once for all of them', async () => {
  const { cookie } = await fleet.createSession();
  const { refreshes } = fleet.service;
  refreshes.length = 0;
  const load = startLoad(6, async () => send(fleet.url, cookie));
  await eventually(async () => refreshes.length >= 2);
  const responses = await load.stop();
  expect(tally(responses)).toEqual({ 200: responses.length });
  const presented = refreshes.map(({ refreshToken }) => refreshToken);
  expect(new Set(presented).size).toBe(presented.length);
});

test('while Redis is away it is Cloakroom that says so, not the balancer', async () => {
  // A separate fleet: afterwards, the load balancer takes a while to see that its processes are ready again.
  await using own = await startBalancedFleet({}, SERVICE);
  const { cookie } = await own.createSession();
  process.kill(own.redisPid, 'SIGSTOP');
  try {
    await eventually(async () => {
      const { code } = await send(own.url, cookie);
      expect(code).toBe('session_store_unavailable');
      return own.balancer.logged().includes(' unready/');
    });
  } finally {
    process.kill(own.redisPid, 'SIGCONT');
  }
  for (const url of [...own.processes.map((each) => each.url), own.url]) {
    await eventually(async () => (await send(url, cookie)).status === 200);
  }
});
