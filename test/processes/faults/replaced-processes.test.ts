import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect, test } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import {
  send,
  startLoad,
  tally,
  type FleetResponse,
  type RequestOptions,
} from '../../support/fleet/requests.ts';
import type { Cloakroom, LogLine } from '../../support/fleet/cloakroom.ts';
import { startBalancedFleet, type BalancedFleet } from '../../support/fleet/load-balancer.ts';
import type { TestSession } from '../../support/fleet/fleet.ts';
import { ME_PATH } from '../../support/fleet/service.ts';
import { createBarrier } from '../../support/fleet/barrier.ts';
import { reportFault } from '../../support/fleet/report.ts';
import { eventually } from '../../support/eventually.ts';

const USERS = ['ada', 'ben', 'cai', 'dora'];
const PAUSE_MS = 25;
const SLOW = '/api/public/v1/slow';
const STREAM = '/api/public/v1/stream';
const ITEMS = '/api/public/v1/items';
const SLOW_MS = 1_500;
const CHUNKS = 15;
const LARGE = 'x'.repeat(200_000);

const isCheck = (line: LogLine) => line['path'] === '/readyz';
const isApiRequest = (line: LogLine) => String(line['path']).startsWith('/api/');

/** Starts clients, each of which sends one request after another. */
const startClients = (clients: number, kinds: readonly (() => Promise<FleetResponse>)[]) =>
  startLoad(clients, async (count) => {
    await delay(PAUSE_MS);
    return (kinds[count % kinds.length] as () => Promise<FleetResponse>)();
  });

test('no request fails while processes are replaced one at a time', async () => {
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

  const sessionsLost = await fleet.countLostSessions(sessions);
  reportFault('three processes replaced one after another behind HAProxy', responses, { sessionsLost });
  expect(tally(responses)).toEqual({ 200: responses.length });
  expect(responses.length).toBeGreaterThan(200);
  expect(exitCodes).toEqual([0, 0, 0]);
  expect([...requests.posts.values()].filter((times) => times !== 1)).toEqual([]);
  expect(sessionsLost).toBe(0);
});

test('after a process is killed, other processes serve the interrupted reads, and no write is repeated', async () => {
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

  // Kill the process before any response starts, because the load balancer can't retry a request whose response has started.
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

  const sessionsLost = await fleet.countLostSessions(sessions);
  reportFault('one of three processes killed behind HAProxy: reads', responses, { sessionsLost });
  expect(tally(responses)).toEqual({ 200: responses.length });
  expect(sessionsLost).toBe(0);
  const { 200: taken = 0, 502: unknown = 0 } = tally(await Promise.all(writes));
  expect(unknown).toBeGreaterThan(0);
  expect(taken + unknown).toBe(6);
  expect([...requests.posts.values()]).toEqual([1, 1, 1, 1, 1, 1]);
});

/**
 * Creates functions that send requests through the load balancer, each with the next user's session. An incomplete response
 * counts as status 0. Also makes the service respond to these requests.
 */
function createMixedRequests({ url, service }: BalancedFleet, users: readonly TestSession[]) {
  const posts = new Map<string, number>();
  service.intercept = async (req, res) => {
    if (req.url?.startsWith(SLOW) === true) await delay(SLOW_MS);
    if (req.method === 'POST') await receivePost(req, res, posts);
    else if (req.url === SLOW) res.end('slow');
    else if (req.url === STREAM) await stream(res);
    else return false;
    return true;
  };

  let count = 0;
  const sendAsNextUser = async (options: RequestOptions, end: string): Promise<FleetResponse> => {
    const response = await send(url, users[(count += 1) % users.length]?.cookie ?? '', options);
    return response.status !== 200 || response.body.endsWith(end) ? response : { ...response, status: 0 };
  };
  const post = async (path: string, body: string) => {
    const headers = { origin: url, 'x-post': `${count}` };
    return sendAsNextUser({ method: 'POST', path, body, headers }, `took ${body.length}`);
  };
  return {
    /** The number of times that the service has received each POST, keyed by the POST's number. */
    posts,
    read: async () => sendAsNextUser({ path: ME_PATH }, '}'),
    page: async () => sendAsNextUser({ path: '/workspaces?page=2' }, '</html>\n'),
    write: async () => post(ITEMS, 'small'),
    upload: async () => post(ITEMS, LARGE),
    // For slowRead and slowWrite, the service waits 1.5 s before it responds. For download, the service sends the body over 1.5 s.
    slowRead: async () => sendAsNextUser({ path: SLOW }, 'slow'),
    slowWrite: async () => post(SLOW, 'small'),
    download: async () => sendAsNextUser({ path: STREAM }, 'end'),
  };
}

/** Counts the POST request and responds with the length of its body. */
async function receivePost(req: IncomingMessage, res: ServerResponse, posts: Map<string, number>) {
  const id = String(req.headers['x-post']);
  posts.set(id, (posts.get(id) ?? 0) + 1);
  let length = 0;
  for await (const chunk of req as AsyncIterable<Buffer>) length += chunk.length;
  res.end(`took ${length}`);
}

async function stream(res: ServerResponse): Promise<void> {
  for (let at = 0; at < CHUNKS; at += 1) {
    res.write(`line ${at}\n`);
    await delay(SLOW_MS / CHUNKS);
  }
  res.end('end');
}
