import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Browser } from '../../support/browser.ts';
import type { Page } from '../../support/browser.ts';
import { send, closeConnections } from '../../support/fleet/requests.ts';
import { startFleet } from '../../support/fleet/fleet.ts';
import type { Fleet } from '../../support/fleet/fleet.ts';
import { startRedisServer } from '../../support/fleet/redis-server.ts';
import { freePort } from '../../support/fleet/free-port.ts';
import type { RedisServer } from '../../support/fleet/redis-server.ts';
import { reportFault } from '../../support/fleet/report.ts';
import { startPollingUser } from '../../support/fleet/polling-users.ts';
import { passSignIn } from '../../support/test-app.ts';
import { startStopwatch } from '../../support/stopwatch.ts';

let redis: RedisServer;
let fleet: Fleet;
let origin: string;

beforeAll(async () => {
  redis = await startRedisServer();
  const port = await freePort();
  origin = `http://127.0.0.1:${port}`;
  fleet = await startFleet({
    processes: 0,
    redisUrl: redis.url,
    service: { LOCAL_SERVICE_REDIRECT_URIS: `${origin}/auth/callback` },
  });
  await fleet.add({ PORT: String(port), PUBLIC_URL: origin });
});
afterAll(async () => {
  await fleet[Symbol.asyncDispose]();
  await redis[Symbol.asyncDispose]();
  await closeConnections();
});

/** Keeps the addresses that it has come to. */
class WatchedBrowser extends Browser {
  readonly visited: string[] = [];

  override async fetch(url: string | URL, init: RequestInit = {}): Promise<Page> {
    this.visited.push(new URL(url).pathname);
    return super.fetch(url, init);
  }
}

test('after Redis was started empty, one sign-in brings a user back, without a loop', async () => {
  const browser = new WatchedBrowser();
  const consent = await passSignIn(browser, await browser.open(`${origin}/workspaces`));
  const signedIn = await browser.follow(await browser.press(consent, 'Allow'));
  expect([signedIn.status, signedIn.url.pathname]).toEqual([200, '/workspaces']);

  const load = startPollingUser(fleet, await fleet.createSession());
  await load.next('api', 200);
  await redis.kill();
  await load.next('api', 503);
  const away = await browser.open(`${origin}/workspaces`);
  expect([away.status, away.url.pathname]).toEqual([503, '/workspaces']);
  await redis.restart('empty');
  using over = startStopwatch();
  await load.next('api', 401);
  const recoveredInMs = over.ms();
  await load.stop();

  const api = await browser.fetch(`${origin}/api/public/v1/workspaces`);
  expect([api.status, JSON.parse(api.text)]).toMatchObject([401, { code: 'session_expired' }]);
  const page = await browser.fetch(`${origin}/workspaces?page=2`);
  expect([page.status, page.headers.get('location')]).toEqual([
    303,
    '/auth/login?return_to=%2Fworkspaces%3Fpage%3D2',
  ]);

  browser.visited.length = 0;
  const back = await browser.follow(
    await browser.press(await browser.open(`${origin}/workspaces?page=2`), 'Allow'),
  );
  expect([back.status, back.url.pathname, back.url.search]).toEqual([200, '/workspaces', '?page=2']);
  const ours = browser.visited.filter((path) => !path.startsWith('/api/public/v1/authorization/'));
  expect(ours).toEqual(['/workspaces', '/auth/login', '/auth/callback', '/workspaces']);
  const calls = await browser.fetch(`${origin}/api/public/v1/workspaces`);
  expect(calls.status).toBe(200);
  expect(await send(origin, '', { path: '/readyz' })).toMatchObject({ status: 200 });

  reportFault({
    fault: 'Redis is killed and started empty',
    responses: load.visits.map(({ response }) => response),
    sessionsLost: 2,
    recoveredInMs,
  });
  const broken = load.visits.filter(({ response }) => response.status === 0 || response.status === 500);
  expect(broken).toEqual([]);
});
