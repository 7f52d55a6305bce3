import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { call, closeCalls, tally } from '../support/fleet/calls.ts';
import { reportFault } from '../support/fleet/report.ts';
import { startFleet } from '../support/fleet/fleet.ts';
import type { Fleet } from '../support/fleet/fleet.ts';
import { TOKEN_PATH } from '../support/fleet/service.ts';

const CALLS = 500;
const TOKEN_LATENCY_MS = 400;
/** For 500 answers on a busy machine, and for looking again at what another process has renewed. */
const BOUNDED_WAIT_MS = 3_000;

afterAll(closeCalls);

describe.each(['false', 'true'])('with LOCAL_SERVICE_ROTATE_REFRESH=%s', (rotate) => {
  let fleet: Fleet;
  beforeAll(async () => {
    fleet = await startFleet({ processes: 4, service: { LOCAL_SERVICE_ROTATE_REFRESH: rotate } });
  });
  afterAll(async () => fleet[Symbol.asyncDispose]());
  afterEach(() => {
    fleet.service.refreshes.length = 0;
    fleet.service.intercept = () => false;
  });

  const callAll = async (cookie: string) =>
    Promise.all(
      Array.from({ length: CALLS }, async (_, at) => {
        const { url = '' } = fleet.processes[at % fleet.processes.length] ?? {};
        return call(url, cookie);
      }),
    );

  test('500 calls of one session over four processes at its expiry make one token call', async () => {
    fleet.service.intercept = async ({ url }) => {
      if (url === TOKEN_PATH) await delay(TOKEN_LATENCY_MS);
      return false;
    };
    const { id, cookie } = await fleet.enter('demo', { expiresAt: 0 });
    const answers = await callAll(cookie);
    reportFault({
      fault: `500 calls at once at an expiry, rotation ${rotate === 'true' ? 'on' : 'off'}`,
      answers,
      sessionsLost: (await fleet.records.peek(id)) === null ? 1 : 0,
    });
    expect(tally(answers)).toEqual({ 200: CALLS });
    expect(fleet.service.refreshes).toHaveLength(1);
    expect(Math.max(...answers.map(({ ms }) => ms))).toBeLessThan(TOKEN_LATENCY_MS + BOUNDED_WAIT_MS);
  });
});
