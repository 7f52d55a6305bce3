import { expect, test } from '@jest/globals';
import { Browser, type Page } from '../../support/browser.ts';
import { useFixture } from '../../support/fixtures.ts';
import { startFleet } from '../../support/fleet/fleet.ts';
import { freePort } from '../../support/fleet/free-port.ts';
import { startPollingUser } from '../../support/fleet/redis-fault.ts';
import { startRedisServer } from '../../support/fleet/redis-server.ts';
import { reportFault } from '../../support/fleet/report.ts';
import { send } from '../../support/fleet/requests.ts';
import { startStopwatch } from '../../support/stopwatch.ts';
import { submitSignIn } from '../../support/test-app.ts';

const redis = useFixture(startRedisServer);
let origin: string;
const fleet = useFixture(async () => {
  const port = await freePort();
  origin = `http://127.0.0.1:${port}`;
  return startFleet({
    redisUrl: redis.url,
    env: { PORT: String(port), PUBLIC_URL: origin },
    service: { LOCAL_SERVICE_REDIRECT_URIS: `${origin}/auth/callback` },
  });
});

/** A browser that records the paths of its requests. */
class RecordingBrowser extends Browser {
  readonly visited: string[] = [];

  override async fetch(url: string | URL, init: RequestInit = {}): Promise<Page> {
    this.visited.push(new URL(url).pathname);
    return super.fetch(url, init);
  }
}

test('after Redis has lost its data, a user returns to the page after a single sign-in, without a redirect loop', async () => {
  const browser = new RecordingBrowser();
  const consent = await submitSignIn(browser, await browser.open(`${origin}/workspaces`));
  const signedIn = await browser.follow(await browser.press(consent, 'Allow'));
  expect([signedIn.status, signedIn.url.pathname]).toEqual([200, '/workspaces']);

  const user = startPollingUser(fleet, await fleet.createSession());
  await user.next('api', 200);
  await redis.kill();
  await user.next('api', 503);
  const unavailable = await browser.open(`${origin}/workspaces`);
  expect([unavailable.status, unavailable.url.pathname]).toEqual([503, '/workspaces']);
  await redis.restart('empty');
  using over = startStopwatch();
  await user.next('api', 401);
  const recoveredInMs = over.ms();
  await user.stop();

  const api = await browser.fetch(`${origin}/api/public/v1/workspaces`);
  expect([api.status, JSON.parse(api.text)]).toMatchObject([401, { code: 'session_expired' }]);
  const page = await browser.fetch(`${origin}/workspaces?page=2`);
  const toSignIn = '/auth/login?return_to=%2Fworkspaces%3Fpage%3D2';
  expect([page.status, page.headers.get('location')]).toEqual([303, toSignIn]);

  browser.visited.length = 0;
  const back = await browser.follow(
    await browser.press(await browser.open(`${origin}/workspaces?page=2`), 'Allow'),
  );
  expect([back.status, back.url.pathname, back.url.search]).toEqual([200, '/workspaces', '?page=2']);
  const ours = browser.visited.filter((path) => !path.startsWith('/api/public/v1/authorization/'));
  expect(ours).toEqual(['/workspaces', '/auth/login', '/auth/callback', '/workspaces']);
  expect((await browser.fetch(`${origin}/api/public/v1/workspaces`)).status).toBe(200);
  expect(await send(origin, '', { path: '/readyz' })).toMatchObject({ status: 200 });

  const responses = user.exchanges.map(({ response }) => response);
  reportFault('Redis is killed and restarted empty', responses, { sessionsLost: 2, recoveredInMs });
  expect(responses.filter(({ status }) => status === 0 || status === 500)).toEqual([]);
});
