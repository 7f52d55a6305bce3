import { beforeAll, describe, expect, test } from '@jest/globals';
import { tally, type FleetResponse } from '../../support/fleet/requests.ts';
import { reportFault } from '../../support/fleet/report.ts';
import { eventually } from '../../support/eventually.ts';
import { useFixture } from '../../support/fixtures.ts';
import {
  createSessions,
  expectOnlyDelays,
  startRequests,
  startTwoProcesses,
  testUserJourney,
  untilReadiness,
  untilServed,
  type Outcome,
} from '../../support/redis/failover-tests.ts';
import { PASSWORD, isReplica } from '../../support/redis/redis-node.ts';
import { startSentinels } from '../../support/redis/sentinels.ts';
import { startStopwatch } from '../../support/stopwatch.ts';

const SESSIONS = 12;

const topology = useFixture(startSentinels);
const fleet = useFixture(async () => startTwoProcesses(topology.url));

testUserJourney(fleet);

describe('when the master is killed under load', () => {
  let responses: FleetResponse[];
  let outcome: Outcome;
  let logged: string[];
  beforeAll(async () => {
    await topology.settled();
    const loggedBefore = fleet.processes.map((process) => process.logged().length);
    const sessions = await createSessions(fleet, SESSIONS);
    await using load = startRequests(fleet, sessions);
    await load.next(200);
    const master = await topology.master();
    using watch = startStopwatch();
    // Looked for from before on: the next master may be there a second later.
    await Promise.all([untilReadiness(fleet, 503), master.kill()]);
    await untilReadiness(fleet, 200);
    const { sessionsLost } = await untilServed(fleet, sessions);
    outcome = { sessionsLost, recoveredInMs: watch.ms() };
    responses = await load.stop();
    reportFault({ fault: 'Sentinel: the master is killed', responses, ...outcome });
    logged = fleet.processes.flatMap((process, at) =>
      process
        .logged()
        .slice(loggedBefore[at])
        .map((line) => JSON.stringify(line)),
    );
  });

  test('requests get 503s for a while, each within two seconds, and nothing else', () => {
    expect(tally(responses)).toHaveProperty(['503 session_store_unavailable']);
    expectOnlyDelays(responses);
  });

  test('no session is lost', () => {
    expect(outcome.sessionsLost).toBe(0);
  });

  test('each process logs once that Redis is away, once that it is back, and never its password', () => {
    const count = (words: string) => logged.filter((line) => line.includes(`"${words}"`)).length;
    expect(count('redis connection lost')).toBe(fleet.processes.length);
    expect(count('redis connection restored')).toBe(fleet.processes.length);
    expect(logged.filter((line) => line.includes(PASSWORD) || line.includes('redis+sentinel:'))).toEqual([]);
  });
});

describe('when the master hangs under load, and comes back to find another in its place', () => {
  let responses: FleetResponse[];
  let afterReturn: FleetResponse[];
  let outcome: Outcome;
  let leaver: { readonly code: number | null; readonly ms: number };
  beforeAll(async () => {
    await topology.settled();
    const leaving = await fleet.add();
    await untilReadiness(fleet, 200);
    fleet.processes.pop(); // requests go to the others alone
    const sessions = await createSessions(fleet, SESSIONS);
    await using load = startRequests(fleet, sessions);
    await load.next(200);
    const master = await topology.master();
    using watch = startStopwatch();
    master.pause();
    leaver = { code: await leaving.stop(), ms: watch.ms() };
    const { sessionsLost } = await untilServed(fleet, sessions);
    outcome = { sessionsLost, recoveredInMs: watch.ms() };
    const before = load.responses.length;

    master.resume();
    await eventually(async () => isReplica(master));
    responses = await load.stop();
    afterReturn = responses.slice(before);
    reportFault({ fault: 'Sentinel: the master hangs, and comes back stale', responses, ...outcome });
  });

  test('requests get 503s for a while, each within two seconds, and nothing else', () => {
    expect(tally(responses)).toHaveProperty(['503 session_store_unavailable']);
    expectOnlyDelays(responses);
  });

  test('no session is lost', () => {
    expect(outcome.sessionsLost).toBe(0);
  });

  test('no process uses the old master when it comes back', () => {
    expect(Object.keys(tally(afterReturn))).toEqual(['200']);
  });

  test('a process exits on SIGTERM meanwhile', () => {
    expect(leaver.code).toBe(0);
    expect(leaver.ms).toBeLessThan(5_000);
  });
});
