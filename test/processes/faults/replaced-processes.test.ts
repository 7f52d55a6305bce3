import { expect, test } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { startLoad, tally, type FleetResponse } from '../../support/fleet/requests.ts';
import type { Cloakroom, LogLine } from '../../support/fleet/cloakroom.ts';
import { startBalancedFleet } from '../../support/fleet/load-balancer.ts';
import { createBarrier } from '../../support/fleet/barrier.ts';
import { createMixedRequests } from '../../support/fleet/mixed-requests.ts';
import { reportFault } from '../../support/fleet/report.ts';
import { eventually } from '../../support/eventually.ts';

const USERS = ['ada', 'ben', 'cai', 'dora'];
const PAUSE_MS = 25;

const isCheck = (line: LogLine) => line['path'] === '/readyz';
const isApiRequest = (line: LogLine) => String(line['path']).startsWith('/api/');

/** Starts clients that each send one request after the other. */
const startClients = (clients: number, kinds: readonly (() => Promise<FleetResponse>)[]) =>
  startLoad(clients, async (count) => {
    await delay(PAUSE_MS);
    return (kinds[count % kinds.length] as () => Promise<FleetResponse>)();
  });

test('no request fails while one process after another is replaced', async () => {
  await using fleet = await startBalancedFleet();
  const sessions = await Promise.all(USERS.map(async (user) => fleet.createSession(user)));
  const requests = createMixedRequests(fleet, sessions);
  // The load balancer learns of a shutdown only from its health checks.
  const isChecked = (each: Cloakroom) => each.logged().filter(isCheck).length > 2;
  await eventually(async () => fleet.processes.every(isChecked));

  const quick = startClients(8, [requests.read, requests.write, requests.page, requests.upload]);
  const slow = startClients(6, [requests.slowRead, requests.slowWrite, requests.download]);
  const exitCodes: (number | null)[] = [];
  for (const old of [...fleet.processes]) {
    exitCodes.push(await old.stop());
    await fleet.replace(old, { PORT: new URL(old.url).port });
  }
  await eventually(async () => fleet.at(2).logged().some(isApiRequest));
  const responses = [...(await quick.stop()), ...(await slow.stop())];

  const sessionsLost = await fleet.countLost(sessions);
  reportFault('three processes replaced one after another behind HAProxy', responses, { sessionsLost });
  expect(tally(responses)).toEqual({ 200: responses.length });
  expect(responses.length).toBeGreaterThan(200);
  expect(exitCodes).toEqual([0, 0, 0]);
  expect([...requests.posts.values()].filter((times) => times !== 1)).toEqual([]);
  expect(sessionsLost).toBe(0);
});

test('another process responds to the reads of a killed process, and no write is repeated', async () => {
  await using fleet = await startBalancedFleet();
  const sessions = await Promise.all(USERS.map(async (user) => fleet.createSession(user)));
  const requests = createMixedRequests(fleet, sessions);
  const barrier = createBarrier();
  const { intercept } = fleet.service;
  let atBarrier = 0;
  fleet.service.intercept = async (...received) => {
    atBarrier += 1;
    await barrier.pass();
    return intercept(...received);
  };

  // No response has started when the process is killed: the load balancer can't repeat a request after that.
  barrier.hold();
  const reads = startClients(9, [requests.read, requests.page]);
  const writes = Array.from({ length: 6 }, requests.write);
  await eventually(async () => atBarrier === 9 + 6);
  const [killed] = fleet.processes as [Cloakroom];
  await killed.kill();
  barrier.release();
  await fleet.replace(killed, { PORT: new URL(killed.url).port });
  await eventually(async () => fleet.at(2).logged().some(isApiRequest));
  const responses = await reads.stop();

  const sessionsLost = await fleet.countLost(sessions);
  reportFault('one of three processes killed behind HAProxy: reads', responses, { sessionsLost });
  expect(tally(responses)).toEqual({ 200: responses.length });
  expect(sessionsLost).toBe(0);
  const { 200: taken = 0, 502: unknown = 0 } = tally(await Promise.all(writes));
  expect(unknown).toBeGreaterThan(0);
  expect(taken + unknown).toBe(6);
  expect([...requests.posts.values()]).toEqual([1, 1, 1, 1, 1, 1]);
});
