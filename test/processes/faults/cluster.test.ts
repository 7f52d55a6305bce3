import { beforeAll, describe, expect, test } from '@jest/globals';
import { hashId } from '../../../src/session/store.ts';
import { send, tally, type FleetResponse } from '../../support/fleet/requests.ts';
import type { LogLine } from '../../support/fleet/cloakroom.ts';
import type { TestSession } from '../../support/fleet/fleet.ts';
import { reportFault } from '../../support/fleet/report.ts';
import { eventually } from '../../support/eventually.ts';
import { useFixture } from '../../support/fixtures.ts';
import { startCluster, type Shard } from '../../support/redis/cluster.ts';
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

/** So many that each master has some. */
const SESSIONS = 30;

const topology = useFixture(async () => startCluster('forOutages'));
const fleet = useFixture(async () => startTwoProcesses(topology.url));

/** New sessions: those that a shard keeps, and the others. */
async function createBoth({
  master,
  replica,
}: Shard): Promise<{ kept: TestSession[]; others: TestSession[] }> {
  const sessions = await createSessions(fleet, SESSIONS);
  const serving = (await isReplica(master)) ? replica : master;
  const keys = new Set((await serving.ask('KEYS', 'cloakroom:session:*')) as string[]);
  const isKept = ({ id }: TestSession) => keys.has(`cloakroom:session:${hashId(id)}`);
  const kept = sessions.filter(isKept);
  const others = sessions.filter((session) => !isKept(session));
  expect(kept.length).toBeGreaterThan(0);
  expect(others.length).toBeGreaterThan(0);
  return { kept, others };
}

/** A share of their requests. In most runs Redis refuses none; of four that were measured, one had 18 % in one of its outages. */
const MOST_REFUSED = 0.25;

/**
 * Expects that every request was served, but for a few that Redis itself refused: while one of three masters is away, the others
 * reply CLUSTERDOWN for as long as one of them takes the other for silent, too. The log line of the request says so.
 */
async function expectServed(responses: readonly FleetResponse[]): Promise<void> {
  const isDown = (line: LogLine) => JSON.stringify(line['err'] ?? '').includes('Redis replied CLUSTERDOWN');
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
  // The log line may come after the response.
  await eventually(async () => unexplained().length === 0, 5_000).catch(() => {});
  expect(tally(unexplained())).toEqual({});
  expect(failed.length / responses.length).toBeLessThan(MOST_REFUSED);
}

testUserJourney(fleet);

describe.each([
  ['is killed', 0],
  ['hangs', 1],
] as const)('when one of three masters %s under load', (how, at) => {
  let responses: FleetResponse[];
  let beside: FleetResponse[];
  let outcome: Outcome;
  let logged: string[];
  beforeAll(async () => {
    const shard = topology.shards[at];
    const { kept, others } = await createBoth(shard);
    await using load = startRequests(fleet, kept);
    await using loadBeside = startRequests(fleet, others);
    await Promise.all([load.next(200), loadBeside.next(200)]);
    if (how === 'hangs') shard.master.pause();
    else await shard.master.kill();
    outcome = await untilServed(fleet, kept);
    if (how === 'hangs') {
      shard.master.resume();
      await eventually(async () => isReplica(shard.master));
    }
    responses = await load.stop();
    beside = await loadBeside.stop();
    reportFault({ fault: `Cluster: one of three masters ${how}`, responses, ...outcome });
    logged = fleet.processes
      .flatMap((process) => process.logged().map((line) => JSON.stringify(line)))
      .filter((line) => line.includes(`"127.0.0.1:${shard.master.port}"`));
  });

  test('requests of its sessions get 503s for a while, each within two seconds, and nothing else', () => {
    expect(tally(responses)).toHaveProperty(['503 session_store_unavailable']);
    expectOnlyDelays(responses);
  });

  test('the other masters serve their sessions', async () => {
    expect(tally(beside)).toHaveProperty(['200']);
    await expectServed(beside);
  });

  test('no session is lost', () => {
    expect(outcome.sessionsLost).toBe(0);
  });

  test('each process logs once which node is away, and never its password', () => {
    expect(logged.filter((line) => line.includes('"redis node lost"'))).toHaveLength(2);
    expect(logged.filter((line) => line.includes(PASSWORD))).toEqual([]);
  });
});

describe('while a third of the cluster is away, replica and all', () => {
  let responses: FleetResponse[];
  let beside: FleetResponse[];
  let outcome: Outcome;
  let newcomer: FleetResponse[];
  beforeAll(async () => {
    const [, , shard] = topology.shards;
    const { kept, others } = await createBoth(shard);
    shard.master.pause();
    shard.replica.pause();
    await using load = startRequests(fleet, kept);
    await using loadBeside = startRequests(fleet, others);
    await load.next(503);
    const late = await fleet.add();
    fleet.processes.pop(); // the load goes on as it was
    await untilReadiness({ processes: [late] }, 200);
    newcomer = await Promise.all(others.map(async ({ cookie }) => send(late.url, cookie)));
    await load.next(503);
    await untilReadiness(fleet, 200);
    for (const node of [shard.master, shard.replica]) node.resume();
    outcome = await untilServed(fleet, kept);
    responses = await load.stop();
    beside = await loadBeside.stop();
    reportFault({ fault: 'Cluster: a master and its replica hang', responses, ...outcome });
  });

  test('requests of its sessions get 503s, each within two seconds, until it is back', () => {
    expect(tally(responses)).toHaveProperty(['503 session_store_unavailable']);
    expectOnlyDelays(responses);
    expect(outcome.sessionsLost).toBe(0);
  });

  test('the other masters serve their sessions', async () => {
    expect(tally(beside)).toHaveProperty(['200']);
    await expectServed(beside);
  });

  test('a new process serves the sessions of the other masters', () => {
    expect(Object.keys(tally(newcomer))).toEqual(['200']);
  });
});
