import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { startMetricsHouse } from '../support/metrics-house.ts';
import { sendRaw } from '../support/raw.ts';

const HELD_MS = 5_000;
/** It begins a little after the page has come. */
const TIMER_SLACK_MS = 100;

test('what a page took does not tell how long it waited for the answer before it to be taken', async () => {
  await using metrics = await startMetricsHouse();
  const { house } = metrics;
  const { cookie } = await house.enter();
  house.intercept = (_req, res) => {
    void delay(HELD_MS).then(() => res.end('{}'));
    return true;
  };
  const call = `GET /api/public/v1/things HTTP/1.1\r\nHost: x\r\nCookie: ${cookie}\r\n\r\n`;
  const page = 'GET /auth/session HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
  const answers = await sendRaw(house, call + page);
  expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200']);
  const series = (part: string) =>
    `cloakroom_request_duration_seconds_${part}{route="/auth/session",method="GET",status="2xx"}`;
  await metrics.expectCount(series('count'), 1);
  expect(await metrics.valueOf(series('sum'))).toBeLessThan((HELD_MS - TIMER_SLACK_MS) / 1_000);
  // The log tells all of it.
  const line = house.logged.find((text) => text.includes('"route":"/auth/session"')) ?? '{}';
  expect((JSON.parse(line) as { ms: number }).ms).toBeGreaterThanOrEqual(HELD_MS - TIMER_SLACK_MS);
});
