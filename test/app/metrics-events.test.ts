import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { createApp } from '../../src/app.ts';
import { createDeferred } from '../../src/promises.ts';
import { redisReady } from '../../src/redis/client.ts';
import { createServices } from '../../src/services.ts';
import { sessionScopedKey } from '../../src/session/store.ts';
import { API_PATH, TOKEN_PATH } from '../support/constants.ts';
import { useFixture } from '../support/fixtures.ts';
import { startMetricsApp, type MetricsApp } from '../support/metrics-app.ts';
import { packageVersion } from '../support/package-version.ts';
import { eventually } from '../support/eventually.ts';
import { startHttpServer } from '../support/http-server.ts';
import { startSignIn } from '../support/test-app.ts';

const metrics = useFixture(async () => startMetricsApp({ SESSION_MAX_SECONDS: '43200' }));
let before = new Map<string, number>();
const all = async () => {
  const series = (await metrics.text()).split('\n').filter((line) => line.startsWith('cloakroom_'));
  return new Map(
    series.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]),
  );
};
beforeEach(async () => {
  before = await all();
});
afterEach(() => {
  metrics.testApp.intercept = () => false;
});

/** Resolves once a series has increased by `by` in this test. */
const expectGrowth = async (series: string, by = 1) =>
  eventually(async () => ((await all()).get(series) ?? 0) - (before.get(series) ?? 0) === by);

/** Sends an API request and resolves with the status. */
const request = async (cookie: string) => {
  const response = await fetch(metrics.testApp.origin + API_PATH, { headers: { cookie } });
  await response.text();
  return response.status;
};
/** Holds the response to a token request and resolves with a function that sends the response. Other requests get an empty 200. */
const holdRefresh = async () =>
  new Promise<() => void>((resolve) => {
    metrics.testApp.intercept = (req, res) => {
      if (req.url !== TOKEN_PATH) return Boolean(res.end());
      resolve(() => void res.end(JSON.stringify(GRANTED)));
      return true;
    };
  });
/** Calls `onCommand` for each command that Redis receives, until the watch is disposed of. */
const watchRedis = async (onCommand: (name: string, key: string, source: string) => void) => {
  const { redis } = metrics.testApp;
  if (!(redis instanceof Redis)) throw new Error('a cluster has no monitor');
  const monitor = await redis.monitor();
  monitor.on('monitor', (_time: string, [command = '', key = '']: string[], source: string) =>
    onCommand(command.toLowerCase(), key, source),
  );
  return { [Symbol.dispose]: () => monitor.disconnect() };
};
/** Makes the service accept only refreshed tokens. The token endpoint responds with `body`, or closes the connection. */
const respondToRefresh = (body: object | null) => {
  metrics.testApp.intercept = (req, res) => {
    if (req.url !== TOKEN_PATH)
      return Boolean(res.writeHead(req.headers.authorization === 'Bearer fresh' ? 200 : 401).end());
    if (body === null) return Boolean(req.socket.destroy());
    return Boolean(res.end(JSON.stringify(body)));
  };
};
const GRANTED = { access_token: 'fresh', expires_in: 900 };

describe('signing in and out', () => {
  test('increments the counters of sign-ins, token requests and sessions', async () => {
    const { browser } = await metrics.testApp.signIn();
    await expectGrowth('cloakroom_sign_ins_total{outcome="started"}');
    await expectGrowth('cloakroom_sign_ins_total{outcome="signed_in"}');
    await expectGrowth('cloakroom_sessions_started_total');
    await expectGrowth('cloakroom_token_requests_total{grant="authorization_code",outcome="granted"}');
    await browser.fetch(`${metrics.testApp.origin}/auth/logout`, {
      method: 'POST',
      headers: { 'sec-fetch-site': 'same-origin' },
    });
    await expectGrowth('cloakroom_sessions_ended_total{cause="signed_out"}');
  });

  test.each<[outcome: string, query: string, tokenResponse: object | null]>([
    ['denied', 'error=access_denied', null],
    ['refused', 'error=server_error', null],
    ['unknown_state', 'code=a-code&state=unknown', null],
    ['token_endpoint', 'code=a-code', null],
    ['refused', 'code=a-code', { error: 'server_error' }],
    ['refused', 'code=a-code', { error: 'invalid_client' }],
  ])('counts a failed sign-in as %s (%s, token response %j)', async (outcome, query, tokenResponse) => {
    const { browser, state } = await startSignIn(metrics.testApp);
    respondToRefresh(tokenResponse);
    const ownState = query.includes('state=') ? '' : `&state=${state}`;
    await browser.fetch(`${metrics.testApp.origin}/auth/callback?${query}${ownState}`);
    await expectGrowth(`cloakroom_sign_ins_total{outcome="${outcome}"}`);
  });

  test.each([
    ['the `iss` of another service', 'code=a-code&iss=https%3A%2F%2Fanother.example'],
    ['two codes', 'code=a-code&code=another-code'],
    ['a token', 'code=a-code&token=a-token'],
    ['a response in a JWT', 'code=a-code&response=a-jwt'],
    ['an error', 'error=server_error'],
    ['no code', 'iss=https%3A%2F%2Fanother.example'],
  ])('counts a callback with %s as refused, and does not send a token request', async (_what, query) => {
    const { browser, state } = await startSignIn(metrics.testApp);
    await browser.fetch(`${metrics.testApp.origin}/auth/callback?${query}&state=${state}`);
    await expectGrowth('cloakroom_sign_ins_total{outcome="refused"}');
    const requests = [...before].filter(([series]) => series.startsWith('cloakroom_token_requests_total'));
    expect(requests).toHaveLength(8);
    expect([...(await all())]).toEqual(expect.arrayContaining(requests));
  });
});

describe('a refresh', () => {
  test.each([
    ['expired', -5_000],
    ['expiring', 5_000],
    ['unauthorized', 500_000],
  ])('is counted as refreshed by the process performing it (the token is %s)', async (trigger, livesMs) => {
    respondToRefresh(GRANTED);
    const { cookie } = await metrics.testApp.createSession({
      expiresAt: metrics.testApp.services.now() + livesMs,
    });
    await request(cookie);
    await expectGrowth(`cloakroom_token_refreshes_total{trigger="${trigger}",outcome="refreshed"}`);
    await expectGrowth('cloakroom_token_requests_total{grant="refresh_token",outcome="granted"}');
  });

  test('in another process is counted as joined once for each waiting request, and the waiting time is measured', async () => {
    const { testApp } = metrics;
    const other = createServices(
      { ...testApp.config, metricsPort: 0 },
      testApp.services.log,
      testApp.services.now,
    );
    await redisReady(other.redis);
    try {
      const { id, cookie } = await testApp.createSession({ expiresAt: 0 });
      const held = holdRefresh();
      const session = await other.store.read(id);
      if (session === null) throw new Error('no session');
      const elsewhere = other.tokens.accessToken(session);
      const respond = await held;
      const seen: string[] = [];
      using _watch = await watchRedis((name, key, source) => {
        if (!key.startsWith('cloakroom:session:')) return;
        if (source !== 'lua' || name === 'getex') seen.push(name); // a script batches the reads from one event loop turn
      });
      const here = [request(cookie), request(cookie)];
      // A process reads the record again (GET) only once both requests have read the session (GETEX) and found the lock taken.
      const isWaitedFor = () => seen.filter((one) => one === 'getex').length === 2 && seen.includes('get');
      await eventually(async () => isWaitedFor());
      respond();
      expect(await Promise.all(here)).toEqual([200, 200]);
      await elsewhere;
      await expectGrowth('cloakroom_token_refreshes_total{trigger="expired",outcome="joined"}', 2);
      await expectGrowth('cloakroom_token_refresh_wait_seconds_count');
    } finally {
      await other[Symbol.asyncDispose]();
    }
  });

  test('adds only the time spent waiting for another process’s lock to the waiting time', async () => {
    const { testApp } = metrics;
    const sum = 'cloakroom_token_refresh_wait_seconds_sum';
    const { id, cookie } = await testApp.createSession({ expiresAt: 0 });
    const lock = sessionScopedKey('cloakroom:', 'refresh-lock', id);
    await testApp.redis.set(lock, 'another process', 'PX', 60_000);
    const tried = createDeferred<void>();
    using _watch = await watchRedis((name, key) => {
      if (name === 'set' && key === lock) tried.resolve();
    });
    const held = holdRefresh();
    const beganAt = performance.now();
    const status = request(cookie);
    await tried.promise;
    await testApp.redis.del(lock);
    const respond = await held;
    const seconds = (performance.now() - beganAt) / 1_000;
    await delay(300); // a slow service
    respond();
    expect(await status).toBe(200);
    await expectGrowth('cloakroom_token_refresh_wait_seconds_count');
    expect(((await all()).get(sum) ?? 0) - (before.get(sum) ?? 0)).toBeLessThanOrEqual(seconds);
  });

  test.each([
    ['invalid_grant', { error: 'invalid_grant' }, 'invalid_grant'],
    ['refused', { error: 'invalid_client' }, 'refused'],
    ['token_endpoint', null, 'unavailable'],
    ['token_endpoint', { error: 'temporarily_unavailable' }, 'unavailable'],
  ])('that fails is counted by its cause (%s, for %j)', async (cause, tokenResponse, outcome) => {
    respondToRefresh(tokenResponse);
    const { cookie } = await metrics.testApp.createSession({ expiresAt: 0 });
    await request(cookie);
    await expectGrowth('cloakroom_token_refreshes_total{trigger="expired",outcome="failed"}');
    await expectGrowth(`cloakroom_token_refresh_failures_total{cause="${cause}"}`);
    await expectGrowth(`cloakroom_token_requests_total{grant="refresh_token",outcome="${outcome}"}`);
    if (cause === 'invalid_grant')
      await expectGrowth('cloakroom_sessions_ended_total{cause="invalid_grant"}');
  });

  test('is not counted as invalid_grant if another process has refreshed the session in the meantime', async () => {
    const { testApp } = metrics;
    const { id, cookie } = await testApp.createSession({ expiresAt: 0 });
    const refreshElsewhere = async () => {
      const found = await testApp.services.store.peek(id);
      if (found === null) throw new Error('no session');
      const { record } = found.session;
      const grant = { ...record.grant, accessToken: 'fresh', expiresAt: testApp.services.now() + 900_000 };
      await testApp.services.store.replace(found.session, { ...record, grant });
    };
    testApp.intercept = (req, res) => {
      if (req.url !== TOKEN_PATH) return Boolean(res.end());
      void refreshElsewhere().then(() => res.end('{"error":"invalid_grant"}'));
      return true;
    };
    expect(await request(cookie)).toBe(200);
    await expectGrowth('cloakroom_token_refreshes_total{trigger="expired",outcome="refreshed"}');
    await expectGrowth('cloakroom_token_refresh_failures_total{cause="invalid_grant"}', 0);
  });

  test('fails without a refresh token, and both the failure and the end of the session are counted', async () => {
    const { testApp } = metrics;
    const { id } = await testApp.createSession({ expiresAt: 0 });
    const found = await testApp.services.store.peek(id);
    if (found === null) throw new Error('no session');
    const { refreshToken: _none, ...grant } = found.session.record.grant;
    await testApp.services.store.replace(found.session, { ...found.session.record, grant });
    expect(await request(testApp.services.cookie.write(id).split(';', 1)[0] ?? '')).toBe(401);
    await expectGrowth('cloakroom_sessions_ended_total{cause="no_refresh_token"}');
    await expectGrowth('cloakroom_token_refresh_failures_total{cause="no_refresh_token"}');
  });
});

test('a session past its maximum age is counted once, however many requests use it', async () => {
  const { cookie } = await metrics.testApp.createSession();
  metrics.testApp.advanceClock(43_300_000);
  await Promise.all([request(cookie), request(cookie), request(cookie)]);
  await expectGrowth('cloakroom_sessions_ended_total{cause="age"}');
});

test('a page request and its upstream requests are counted', async () => {
  const { browser } = await metrics.testApp.signIn();
  await browser.open(`${metrics.testApp.origin}/workspaces`);
  await expectGrowth('cloakroom_upstream_requests_total{caller="pages",status="2xx"}', 2);
  await expectGrowth('cloakroom_requests_total{route="/workspaces",status="2xx"}', 2);
});

test('Redis commands are counted, and session reads are counted separately', async () => {
  const { cookie } = await metrics.testApp.createSession();
  metrics.testApp.intercept = (_req, res) => Boolean(res.end());
  await request(cookie);
  const now = await all();
  for (const command of ['read', 'other']) {
    const series = `cloakroom_redis_command_duration_seconds_count{command="${command}"}`;
    expect(now.get(series)).toBeGreaterThan(before.get(series) ?? 0);
  }
});

test('cloakroom_build_info has the version, the revision and the Node version', async () => {
  expect(await metrics.text()).toContain(
    `cloakroom_build_info{version="${packageVersion}",revision="unknown",node="${process.version}"} 1`,
  );
});

/** Resolves once a series in an app exceeds 0. */
const expectGrown = async (own: MetricsApp, series: string) =>
  eventually(async () => (await own.valueOf(series)) > 0);
const statusOf = async ({ testApp }: MetricsApp, path: string, cookie = '') =>
  (await fetch(testApp.origin + path, { headers: { cookie }, redirect: 'manual' })).status;

test('two apps in a process share its metrics, and the process is not ready once one app drains', async () => {
  await using own = await startMetricsApp();
  const { testApp, expectCount } = own;
  await using other = await startHttpServer(createApp(testApp.services));
  const { cookie } = await testApp.createSession();
  testApp.intercept = (_req, res) => Boolean(res.end('{}'));
  for (const origin of [`http://127.0.0.1:${other.port}`, testApp.origin]) {
    const response = await fetch(`${origin}${API_PATH}?x=1`, { headers: { cookie } });
    expect([response.status, await response.text()]).toEqual([200, '{}']);
    expect(testApp.serviceRequests.at(-1)?.url).toBe(`${API_PATH}?x=1`);
  }
  await expectCount('cloakroom_requests_total{route="/api/*",status="2xx"}', 2);
  await expectCount('cloakroom_ready', 1);
  await expectCount('cloakroom_draining', 0);
  await testApp.running.drain(5_000);
  await expectCount('cloakroom_ready', 0);
  await expectCount('cloakroom_draining', 1);
});

test('an error from a full Redis is counted as full, not as other', async () => {
  await using own = await startMetricsApp();
  await own.testApp.redis.config('SET', 'maxmemory', '1');
  expect(await statusOf(own, '/auth/login')).toBe(503);
  await expectGrown(own, 'cloakroom_redis_errors_total{kind="full"}');
  await expectGrown(own, 'cloakroom_sign_ins_total{outcome="redis"}');
  expect(await own.valueOf('cloakroom_redis_errors_total{kind="other"}')).toBe(0);
});

test('while Redis does not respond, errors are counted as timeout and the process is not ready', async () => {
  await using own = await startMetricsApp();
  const { testApp } = own;
  const { cookie } = await testApp.createSession({ expiresAt: 0 });
  process.kill(testApp.privateRedis.pid, 'SIGSTOP');
  try {
    expect(await statusOf(own, API_PATH, cookie)).toBe(503);
    await expectGrown(own, 'cloakroom_redis_errors_total{kind="timeout"}');
    await own.expectCount('cloakroom_ready', 0);
  } finally {
    process.kill(testApp.privateRedis.pid, 'SIGCONT');
  }
  await own.expectCount('cloakroom_ready', 1);
});

test('an error after Redis has terminated is counted as unreachable', async () => {
  await using own = await startMetricsApp();
  const { testApp } = own;
  const { cookie } = await testApp.createSession();
  process.kill(testApp.privateRedis.pid, 'SIGKILL');
  await eventually(async () => (await statusOf(own, API_PATH, cookie)) === 503);
  await expectGrown(own, 'cloakroom_redis_errors_total{kind="unreachable"}');
  await own.expectCount('cloakroom_ready', 0);
});
