import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { Browser, type Page } from '../support/browser.ts';
import { signInAt, startComposition } from '../support/containers/composition.ts';
import { docker, inspect } from '../support/containers/docker.ts';
import { eventually } from '../support/eventually.ts';
import { useFixture } from '../support/fixtures.ts';

const SERVICE = 'http://service.localhost';

/** Resolves all names under .localhost to this machine, as browsers do but some resolvers don't (RFC 6761 §6.3). */
class LocalBrowser extends Browser {
  override async fetch(url: string | URL, init?: RequestInit): Promise<Page> {
    const at = new URL(url);
    if (at.hostname.endsWith('.localhost')) at.hostname = 'localhost';
    return super.fetch(at, init);
  }
}

const testApp = useFixture(async () =>
  startComposition({
    files: ['deploy/compose.scaled.yml'],
    serviceUrl: SERVICE,
    // Access tokens expire during the tests, so that requests trigger refreshes.
    env: { LOCAL_SERVICE_ACCESS_TOKEN_SECONDS: '2' },
  }),
);

describe('three app containers behind a load balancer', () => {
  test('take turns serving a session', async () => {
    const { browser } = await signInAt(testApp.url, new LocalBrowser());
    for (const _ of [1, 2, 3, 4, 5, 6])
      expect((await browser.fetch(`${testApp.url}/workspaces`)).status).toBe(200);
    const lines = (await testApp.compose(['logs', '--no-log-prefix', 'balancer'])).split('\n');
    const served = lines
      .filter((line) => line.includes('GET /workspaces '))
      .map((line) => / kept\/(\w+) /.exec(line)?.[1]);
    expect(new Set(served)).toEqual(new Set(['one', 'two', 'three']));
  });

  test('are all ready before the load balancer starts, so it logs no warnings', async () => {
    await testApp.compose(['rm', '--stop', '--force', 'balancer', 'ready']);
    await testApp.compose(['restart', 'app']);
    await testApp.compose(['up', '--detach', '--no-build', '--no-recreate', 'balancer']);
    const at = async (service: string, moment: string) =>
      Date.parse(await inspect<string>(testApp.container(service), `.State.${moment}`));
    expect(await inspect<number>(testApp.container('ready'), '.State.ExitCode')).toBe(0);
    expect(await at('balancer', 'StartedAt')).toBeGreaterThanOrEqual(await at('ready', 'FinishedAt'));
    const isUp = async () => (await fetch(`${testApp.url}/healthz`).catch(() => null))?.ok === true;
    await eventually(isUp, 60_000);
    expect(await testApp.compose(['logs', 'balancer'])).not.toMatch(/WARNING|ALERT|DOWN|no server available/);
  });

  test('serve all requests and refresh tokens while one container is stopped and started', async () => {
    const { browser } = await signInAt(testApp.url, new LocalBrowser());
    const statuses: number[] = [];
    const over = new AbortController();
    const requests = (async () => {
      while (!over.signal.aborted) {
        statuses.push((await browser.fetch(`${testApp.url}/api/public/v1/workspaces?limit=1`)).status);
        await delay(50);
      }
    })();
    await docker(['stop', testApp.container('app', 2)]);
    const untilNext60 = async () => {
      const enough = statuses.length + 60; // about 3 s, longer than a token's lifetime
      while (statuses.length < enough) await delay(20);
    };
    const before = await countTokenRequests();
    await untilNext60();
    expect(await countTokenRequests()).toBeGreaterThan(before);
    await docker(['start', testApp.container('app', 2)]);
    await untilNext60();
    over.abort();
    await requests;
    expect(new Set(statuses)).toEqual(new Set([200]));
  });
});

/** Counts the token requests in the local service's log. */
async function countTokenRequests(): Promise<number> {
  const logs = await testApp.compose(['logs', '--no-log-prefix', 'local-service']);
  return logs.split('"path":"/api/public/v1/authorization/oauth2/token"').length - 1;
}
