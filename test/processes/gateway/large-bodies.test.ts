import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createDeferred } from '../../../src/promises.ts';
import { MIB } from '../../support/constants.ts';
import { closeConnections } from '../../support/fleet/requests.ts';
import { startFleet, type Fleet } from '../../support/fleet/fleet.ts';
import { download, startLargeService, upload, type LargeService } from '../../support/fleet/large-bodies.ts';
import { residentBytes, watchPeak } from '../../support/fleet/memory.ts';

// Against a process of its own: its memory is nobody else's.

const GIB = 1024 * MIB;
/** What a process may grow by for one body, however large that is: on a busy machine Node 24 collects what was read late. */
const GROWTH = 96 * MIB;
/** As much of a body as the kernel may hold between the two ends: what is on its way is nobody's memory. */
const ON_ITS_WAY = 64 * MIB;

let service: LargeService;
let fleet: Fleet;
let url: string;
let pid: number;
let cookie: string;
/** What smaller bodies took at most: the code is compiled, and what is read and dropped awaits its collection. */
let warmPeak: number;
beforeAll(async () => {
  service = await startLargeService();
  fleet = await startFleet({ env: { SERVICE_URL: service.origin, MAX_BODY_BYTES: String(2 * GIB) } });
  ({ url, pid } = fleet.at(0));
  ({ cookie } = await fleet.createSession());
  const peak = await watchPeak(pid);
  await download(url, cookie, 256 * MIB);
  await upload(url, cookie, 256 * MIB);
  warmPeak = await peak();
});
afterAll(async () => {
  await fleet[Symbol.asyncDispose]();
  await service[Symbol.asyncDispose]();
  await closeConnections();
});
beforeEach(() => {
  service.goOn = Promise.resolve();
});

/** What the process has grown by: for good, and in between beyond what it has always needed. */
async function growthDuring(run: () => Promise<void>): Promise<number> {
  const before = await residentBytes(pid);
  const peak = await watchPeak(pid);
  await run();
  return Math.max((await residentBytes(pid)) - before, (await peak()) - warmPeak);
}

/** Resolves with what has been sent once that grows no more. */
async function stopped(progress: () => number): Promise<number> {
  for (let last = -1, quiet = 0; ;) {
    await delay(50);
    const sent = progress();
    quiet = sent > 0 && sent === last ? quiet + 1 : 0;
    if (quiet === 6) return sent;
    last = sent;
  }
}

describe('a body of 1 GiB comes whole in constant memory', () => {
  test('from the service', async () => {
    expect(await growthDuring(async () => download(url, cookie, GIB))).toBeLessThan(GROWTH);
  });

  test('to the service', async () => {
    expect(await growthDuring(async () => upload(url, cookie, GIB))).toBeLessThan(GROWTH);
  });
});

describe('whoever sends faster than the other side reads is stopped, and then goes on:', () => {
  test('the service', async () => {
    const { promise: goOn, resolve } = createDeferred<void>();
    const growth = await growthDuring(async () => {
      service.progress.sent = 0;
      const done = download(url, cookie, 256 * MIB, goOn);
      expect(await stopped(() => service.progress.sent)).toBeLessThan(ON_ITS_WAY);
      resolve();
      await done;
    });
    expect(growth).toBeLessThan(GROWTH);
  });

  test('the browser', async () => {
    const { promise: goOn, resolve } = createDeferred<void>();
    service.goOn = goOn;
    const progress = { sent: 0 };
    const growth = await growthDuring(async () => {
      const done = upload(url, cookie, 256 * MIB, progress);
      expect(await stopped(() => progress.sent)).toBeLessThan(ON_ITS_WAY);
      resolve();
      await done;
    });
    expect(growth).toBeLessThan(GROWTH);
  });
});
