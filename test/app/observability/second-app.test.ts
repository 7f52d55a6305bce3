import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';
import { createApp } from '../../../src/app.ts';
import { startMetricsApp } from '../../support/metrics-app.ts';

test('a second app beside a running server counts in the same metrics', async () => {
  await using metrics = await startMetricsApp();
  const server = createServer(createApp(metrics.testApp.services)).listen(0, '127.0.0.1');
  try {
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const { cookie } = await metrics.testApp.enter();
    metrics.testApp.intercept = (_req, res) => Boolean(res.end('{}'));
    for (const origin of [`http://127.0.0.1:${port}`, metrics.testApp.origin]) {
      const answer = await fetch(`${origin}/api/public/v1/things`, { headers: { cookie } });
      expect([answer.status, await answer.text()]).toEqual([200, '{}']);
    }
    await metrics.expectCount(
      'cloakroom_request_duration_seconds_count{route="/api/*",method="GET",status="2xx"}',
      2,
    );
    await metrics.expectCount('cloakroom_ready', 1);
    // A process of which one part drains is not ready.
    await metrics.testApp.running.drain(5_000);
    await metrics.expectCount('cloakroom_ready', 0);
    await metrics.expectCount('cloakroom_draining', 1);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
