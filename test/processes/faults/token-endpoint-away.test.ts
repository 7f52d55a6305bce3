import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { TOKEN_PATH } from '../../support/constants.ts';
import { call, closeCalls, startLoad, tally } from '../../support/fleet/calls.ts';
import { reportFault } from '../../support/fleet/report.ts';
import { startFleet } from '../../support/fleet/fleet.ts';
import type { Fleet } from '../../support/fleet/fleet.ts';
import { startStopwatch } from '../../support/stopwatch.ts';

/** A try that failed is followed by another two seconds later; the rest is for a busy machine. */
const RECOVERS_WITHIN_MS = 5_000;

let fleet: Fleet;

beforeAll(async () => {
  fleet = await startFleet({ processes: 2 });
});
afterAll(async () => {
  await fleet[Symbol.asyncDispose]();
  await closeCalls();
});

const processUrl = (count: number) => fleet.processes[count % 2]?.url ?? '';

test('while the service refuses connections, sessions are kept, and go on when it is back', async () => {
  const spent = await fleet.enter('demo', { expiresAt: 0 });
  const living = await fleet.enter('demo', { expiresAt: Date.now() + 30_000 });
  await fleet.service.goAway();
  const load = startLoad(4, async (count) => {
    await delay(20);
    return call(processUrl(count), (count % 4 < 2 ? spent : living).cookie);
  });
  await Promise.all([load.next(502), load.next(503)]);
  const [page, status] = await Promise.all([
    call(processUrl(0), spent.cookie, { path: '/workspaces', headers: { accept: 'text/html' } }),
    call(processUrl(1), spent.cookie, { path: '/auth/session' }),
  ]);
  const during = tally(load.answers);

  await fleet.service.comeBack();
  using over = startStopwatch();
  await load.next(200);
  const recoveredInMs = over.ms();
  const answers = await load.stop();
  const kept = await Promise.all([spent, living].map(async ({ id }) => fleet.store.peek(id)));
  reportFault({
    fault: 'service refuses connections',
    answers,
    sessionsLost: kept.filter((found) => found === null).length,
    recoveredInMs,
  });
  // The living token goes out, and finds nobody either.
  expect(Object.keys(during).toSorted()).toEqual([
    '502 service_unreachable',
    '503 token_endpoint_unavailable',
  ]);
  expect(page).toMatchObject({ status: 503, body: expect.stringContaining('Try again') });
  expect(JSON.parse(status.body)).toMatchObject({ signedIn: true });
  expect(answers.filter(({ headers }) => headers['set-cookie'] !== undefined)).toEqual([]);
  expect(kept).not.toContain(null);
  expect(recoveredInMs).toBeLessThan(RECOVERS_WITHIN_MS);
});

test('a token endpoint that is slow, but not too slow, costs nobody a call', async () => {
  fleet.service.intercept = async ({ url }) => {
    if (url === TOKEN_PATH) await delay(600);
    return false;
  };
  const before = fleet.service.refreshes.length;
  const { id, cookie } = await fleet.enter('demo', { expiresAt: 0 });
  const calls = Array.from({ length: 20 }, async (_, at) => call(processUrl(at), cookie));
  const answers = await Promise.all(calls);
  reportFault({
    fault: 'token endpoint takes 600 ms',
    answers,
    sessionsLost: (await fleet.store.peek(id)) === null ? 1 : 0,
  });
  expect(tally(answers)).toEqual({ 200: 20 });
  expect(fleet.service.refreshes).toHaveLength(before + 1);
});
