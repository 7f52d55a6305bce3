import { expect } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { send, startLoad, tally } from '../fleet/requests.ts';
import type { FleetResponse, Load } from '../fleet/requests.ts';
import type { TestSession } from '../fleet/fleet.ts';
import { eventually } from '../eventually.ts';
import { startStopwatch } from '../stopwatch.ts';
import type { TwoProcesses } from './two-processes.ts';

const CALLERS = 4;
/** While Redis is away the responses come at once, and the machine has better things to do than to count them. */
const PAUSE_MS = 25;
const RECOVERED_WITHIN_MS = 12_000;

/** Calls of all sessions in turn, by every process. */
export function startCalls(
  { processes }: TwoProcesses,
  sessions: readonly TestSession[],
): Load & AsyncDisposable {
  const load = startLoad(CALLERS, async (count) => {
    await delay(PAUSE_MS);
    const process = processes[count % processes.length];
    const session = sessions[Math.floor(count / processes.length) % sessions.length];
    return send(process?.url ?? '', session?.cookie ?? '');
  });
  return { ...load, [Symbol.asyncDispose]: async () => void (await load.stop()) };
}

/** Sessions of many users; the tokens of every other one are spent. */
export async function enterMany(fleet: TwoProcesses, count: number): Promise<TestSession[]> {
  return Promise.all(
    Array.from({ length: count }, async (_, at) =>
      fleet.createSession(`user-${at}`, at % 2 === 0 ? { expiresAt: 0 } : {}),
    ),
  );
}

/** What came of a fault: a row's end for the report. */
export interface Outcome {
  readonly recoveredInMs: number;
  readonly sessionsLost: number;
}

/** Resolves with the time it took until every process serves each session that Redis has kept. */
export async function untilServed(fleet: TwoProcesses, sessions: readonly TestSession[]): Promise<Outcome> {
  using watch = startStopwatch();
  let sessionsLost = 0;
  for (const { id, cookie } of sessions) {
    await eventually(async () => {
      const responses = await Promise.all(fleet.processes.map(async ({ url }) => send(url, cookie)));
      const found = await fleet.store.peek(id).catch(() => undefined); // the test's own connection is back too
      if (found === null) sessionsLost += 1;
      return found === null || (found !== undefined && responses.every(({ status }) => status === 200));
    }, RECOVERED_WITHIN_MS);
  }
  return { recoveredInMs: watch.ms(), sessionsLost };
}

/** Resolves once every process says by `/readyz` that it can or can't serve; each response within 2 s. */
export async function untilReadiness(fleet: TwoProcesses, status: 200 | 503): Promise<void> {
  const until = async (url: string) =>
    eventually(async () => {
      const response = await send(url, '', { path: '/readyz' });
      expect(response.ms).toBeLessThan(2_000);
      return response.status === status;
    });
  await Promise.all(fleet.processes.map(async ({ url }) => until(url)));
}

const ALLOWED = /^(?:200|503 (?:session_store|token_endpoint)_unavailable)$/;
/** Who comes after a renewal that was cut off waits until its lock has run out. */
const LONGEST_WAIT_MS = 10_000;

/** Nobody was signed out or cut off, and each "not now" came in time. */
export function expectOnlyDelays(responses: readonly FleetResponse[]): void {
  for (const kind of Object.keys(tally(responses))) expect(kind).toMatch(ALLOWED);
  expect(slowest(responses.filter(({ status }) => status === 503))).toBeLessThan(2_000);
  expect(slowest(responses)).toBeLessThan(LONGEST_WAIT_MS);
}

function slowest(responses: readonly FleetResponse[]): number {
  return Math.max(...responses.map(({ ms }) => ms));
}
