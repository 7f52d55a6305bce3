import { beforeAll, describe, expect, test } from '@jest/globals';
import { hashId } from '../../../src/session/store.ts';
import { send, tally, type FleetResponse } from '../../support/fleet/requests.ts';
import type { LogLine } from '../../support/fleet/cloakroom.ts';
import type { TestSession } from '../../support/fleet/fleet.ts';
import { eventually } from '../../support/eventually.ts';
import { useFixture } from '../../support/fixtures.ts';
import { startCluster, type Shard } from '../../support/redis/cluster.ts';
import * as failovers from '../../support/redis/failover-tests.ts';
import { PASSWORD, isReplica, untilReplicated } from '../../support/redis/redis-node.ts';

/** Enough sessions for each master to hold at least one. */
const SESSIONS = 30;

const topology = useFixture(async () => startCluster('forOutages'));
const fleet = useFixture(async () => failovers.startTwoProcesses(topology.url));

/** Creates sessions, and returns those on this shard separately from those on other shards. */
async function createBoth({ master, replica }: Shard) {
  const sessions = await failovers.createSessions(fleet, SESSIONS);
  // On a busy machine, another master may fail over too, and would lose what its replica doesn't have yet.
  await Promise.all(topology.nodes.map(untilReplicated));
  const serving = (await isReplica(master)) ? replica : master;
  const keys = new Set((await serving.sendCommand('KEYS', 'cloakroom:session:*')) as string[]);
  const isHeld = ({ id }: TestSession) => keys.has(`cloakroom:session:${hashId(id)}`);
  const [held, others] = [sessions.filter(isHeld), sessions.filter((session) => !isHeld(session))];
  expect(held.length).toBeGreaterThan(0);
  expect(others.length).toBeGreaterThan(0);
  return { held, others };
}

/** The maximum fraction of refused requests. Redis usually refuses no requests, but in one of four measured runs it refused 18%. */
const MOST_REFUSED = 0.25;

/**
 * Checks that all requests were served, except for those that Redis itself refused. While one of three masters is down, the
 * others reply CLUSTERDOWN until they can reach each other. The log line for a refused request contains CLUSTERDOWN.
 */
async function expectServed(responses: readonly FleetResponse[]): Promise<void> {
  const isDown = (line: LogLine) => line['cause'] === 'Redis replied CLUSTERDOWN';
  const failed = responses.filter(({ status }) => status !== 200);
  const unexplained = () => {
    const lines = fleet.processes.flatMap((each) => each.logged()).filter(isDown);
    const isRefused = ({ status, code, headers: { 'x-request-id': id } }: FleetResponse) =>
      status === 503 &&
      code === 'session_store_unavailable' &&
      id !== undefined &&
      lines.some(({ requestId }) => requestId === id);
    return failed.filter((response) => !isRefused(response));
  };
  // The log line may arrive after the response.
  await eventually(async () => unexplained().length === 0, 5_000).catch(() => {});
  expect(tally(unexplained())).toEqual({});
  expect(failed.length / responses.length).toBeLessThan(MOST_REFUSED);
  expect(tally(responses)).toHaveProperty(['200']);
}

failovers.testUserJourney(fleet);

describe.each([
  ['is killed', 0],
  ['hangs', 1],
] as const)('when one of three masters %s under load', (how, at) => {
  let failover: failovers.ObservedFailover;
  let toOthers: FleetResponse[];
  let logged: string[];
  beforeAll(async () => {
    const shard = topology.shards[at];
    const { held, others } = await createBoth(shard);
    await using load = failovers.startRequests(fleet, others);
    await load.next(200);
    failover = await failovers.observeFailover(fleet, held, `Cluster: one of three masters ${how}`, {
      begin: async () => (how === 'hangs' ? shard.master.pause() : shard.master.kill()),
      async repair() {
        if (how === 'is killed') return;
        shard.master.resume();
        await eventually(async () => isReplica(shard.master));
      },
    });
    toOthers = await load.stop();
    logged = fleet.processes
      .flatMap((process) => process.logged().map((line) => JSON.stringify(line)))
      .filter((line) => line.includes(`"127.0.0.1:${shard.master.port}"`));
  });

  failovers.testFailover(() => failover);

  test('the other masters keep serving their sessions', async () => expectServed(toOthers));

  test('each process logs the loss of the node once, without the password', () => {
    expect(logged.filter((line) => line.includes('"redis node lost"'))).toHaveLength(2);
    expect(logged.filter((line) => line.includes(PASSWORD))).toEqual([]);
  });
});

describe('while a cluster master and its replica hang', () => {
  let failover: failovers.ObservedFailover;
  let toOthers: FleetResponse[];
  let ofNewProcess: FleetResponse[];
  beforeAll(async () => {
    const [, , { master, replica }] = topology.shards;
    const { held, others } = await createBoth({ master, replica });
    await using loadOfOthers = failovers.startRequests(fleet, others);
    failover = await failovers.observeFailover(fleet, held, 'Cluster: a master and its replica hang', {
      async begin(load) {
        for (const node of [master, replica]) node.pause();
        await load.next(503);
        const late = await fleet.add();
        fleet.processes.pop(); // the load must not include this process
        await failovers.untilReadiness({ processes: [late] }, 200);
        ofNewProcess = await Promise.all(others.map(async ({ cookie }) => send(late.url, cookie)));
        await load.next(503);
        await failovers.untilReadiness(fleet, 200);
        for (const node of [master, replica]) node.resume();
      },
    });
    toOthers = await loadOfOthers.stop();
  });

  failovers.testFailover(() => failover);

  test('the other masters keep serving their sessions', async () => expectServed(toOthers));

  test('a newly started process serves the sessions on the other masters', () => {
    expect(Object.keys(tally(ofNewProcess))).toEqual(['200']);
  });
});
