import { beforeAll, describe, expect, test } from '@jest/globals';
import { tally } from '../../support/fleet/requests.ts';
import { eventually } from '../../support/eventually.ts';
import { useFixture } from '../../support/fixtures.ts';
import * as failovers from '../../support/redis/failover-tests.ts';
import { PASSWORD, isReplica } from '../../support/redis/redis-node.ts';
import { startSentinels } from '../../support/redis/sentinels.ts';
import { startStopwatch } from '../../support/stopwatch.ts';

const SESSIONS = 12;

const topology = useFixture(startSentinels);
const fleet = useFixture(async () => failovers.startTwoProcesses(topology.url));

failovers.testUserJourney(fleet);

describe('when the master is killed under load', () => {
  let failover: failovers.ObservedFailover;
  let logged: string[];
  beforeAll(async () => {
    await topology.readyForFailover();
    const loggedBefore = fleet.processes.map((process) => process.logged().length);
    const sessions = await failovers.createSessions(fleet, SESSIONS);
    failover = await failovers.observeFailover(fleet, sessions, 'Sentinel: the master is killed', {
      async begin() {
        const master = await topology.master();
        // Start polling before the kill, because the next master may be available a second later.
        await Promise.all([failovers.untilReadiness(fleet, 503), master.kill()]);
        await failovers.untilReadiness(fleet, 200);
      },
    });
    const lines = fleet.processes.flatMap((process, at) => process.logged().slice(loggedBefore[at]));
    logged = lines.map((line) => JSON.stringify(line));
  });

  failovers.testFailover(() => failover);

  test('each process logs the lost connection once and the restored connection once, without the password', () => {
    const count = (words: string) => logged.filter((line) => line.includes(`"${words}"`)).length;
    expect(count('redis connection lost')).toBe(fleet.processes.length);
    expect(count('redis connection restored')).toBe(fleet.processes.length);
    expect(logged.filter((line) => line.includes(PASSWORD) || line.includes('redis+sentinel:'))).toEqual([]);
  });
});

describe('when the master hangs under load and resumes after another master has taken its place', () => {
  let failover: failovers.ObservedFailover;
  let shutdown: { readonly exitCode: number | null; readonly ms: number };
  beforeAll(async () => {
    await topology.readyForFailover();
    const leaving = await fleet.add();
    await failovers.untilReadiness(fleet, 200);
    fleet.processes.pop(); // keeps requests away from the process that is shutting down
    const sessions = await failovers.createSessions(fleet, SESSIONS);
    const master = await topology.master();
    failover = await failovers.observeFailover(fleet, sessions, 'Sentinel: the master hangs, and returns', {
      async begin() {
        using watch = startStopwatch();
        master.pause();
        shutdown = { exitCode: await leaving.stop(), ms: watch.ms() };
      },
      async repair() {
        master.resume();
        await eventually(async () => isReplica(master));
      },
    });
  });

  failovers.testFailover(() => failover);

  test('no process uses the old master after its return', () => {
    expect(Object.keys(tally(failover.afterwards))).toEqual(['200']);
  });

  test('a process exits on SIGTERM during the outage', () => {
    expect(shutdown.exitCode).toBe(0);
    expect(shutdown.ms).toBeLessThan(5_000);
  });
});
