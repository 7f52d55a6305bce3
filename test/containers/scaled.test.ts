import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Browser } from '../support/browser.ts';
import type { Page } from '../support/browser.ts';
import { signInAt, startComposition } from '../support/containers/composition.ts';
import type { Composition } from '../support/containers/composition.ts';
import { docker, inspect } from '../support/containers/docker.ts';
import { eventually } from '../support/eventually.ts';

const SERVICE = 'http://service.localhost';

/** Takes every name that ends in .localhost for this machine, as browsers do (RFC 6761 §6.3) and not every resolver does. */
class LocalBrowser extends Browser {
  override async fetch(url: string | URL, init?: RequestInit): Promise<Page> {
    const at = new URL(url);
    if (at.hostname.endsWith('.localhost')) at.hostname = 'localhost';
    return super.fetch(at, init);
  }
}

describe('Three app containers behind a balancer', () => {
  let testApp: Composition;
  beforeAll(async () => {
    testApp = await startComposition({
      files: ['deploy/compose.scaled.yml'],
      serviceUrl: SERVICE,
      // Each call renews, but for those within the same second.
      env: { LOCAL_SERVICE_ACCESS_TOKEN_SECONDS: '2' },
    });
  });
  afterAll(async () => testApp[Symbol.asyncDispose]());

  test('serve a session in turn', async () => {
    const { browser } = await signInAt(testApp.url, new LocalBrowser());
    for (const _ of [1, 2, 3, 4, 5, 6])
      expect((await browser.fetch(`${testApp.url}/workspaces`)).status).toBe(200);
    const lines = (await testApp.compose(['logs', '--no-log-prefix', 'balancer'])).split('\n');
    const served = lines
      .filter((line) => line.includes('GET /workspaces '))
      .map((line) => / kept\/(\w+) /.exec(line)?.[1]);
    expect(new Set(served)).toEqual(new Set(['one', 'two', 'three']));
  });

  test('are all ready before the balancer begins, which has nothing to warn of', async () => {
    await testApp.compose(['rm', '--stop', '--force', 'balancer', 'ready']);
    await testApp.compose(['restart', 'app']);
    await testApp.compose(['up', '--detach', '--no-build', '--no-recreate', 'balancer']);
    const at = async (service: string, moment: string) =>
      Date.parse(await inspect<string>(testApp.container(service), `.State.${moment}`));
    expect(await inspect<number>(testApp.container('ready'), '.State.ExitCode')).toBe(0);
    expect(await at('balancer', 'StartedAt')).toBeGreaterThanOrEqual(await at('ready', 'FinishedAt'));
    const ask = async () => fetch(`${testApp.url}/healthz`);
    await eventually(
      async () =>
        ask().then(
          ({ ok }) => ok,
          () => false,
        ),
      60_000,
    );
    expect(await testApp.compose(['logs', 'balancer'])).not.toMatch(/WARNING|ALERT|DOWN|no server available/);
  });

  test('go on while one is stopped and comes back: no call fails, and tokens are renewed', async () => {
    const { browser } = await signInAt(testApp.url, new LocalBrowser());
    const statuses: number[] = [];
    const over = new AbortController();
    const calling = (async () => {
      while (!over.signal.aborted) {
        statuses.push((await browser.fetch(`${testApp.url}/api/public/v1/workspaces?limit=1`)).status);
        await delay(50);
      }
    })();
    await docker(['stop', testApp.container('app', 2)]);
    const renewed = await refreshes(testApp);
    const called = statuses.length;
    await untilLonger(statuses, called + 60); // some three seconds: longer than a token lives
    expect(await refreshes(testApp)).toBeGreaterThan(renewed);
    await docker(['start', testApp.container('app', 2)]);
    await untilLonger(statuses, statuses.length + 60);
    over.abort();
    await calling;
    expect(new Set(statuses)).toEqual(new Set([200]));
  });
});

async function untilLonger(list: readonly unknown[], length: number): Promise<void> {
  while (list.length < length) await delay(20);
}

/** How many calls of its token endpoint the local service has logged. */
async function refreshes(testApp: Composition): Promise<number> {
  const logs = await testApp.compose(['logs', '--no-log-prefix', 'local-service']);
  return logs
    .split('\n')
    .filter((line) => line.includes('"path":"/api/public/v1/authorization/oauth2/token"')).length;
}
