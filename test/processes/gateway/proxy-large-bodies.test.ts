import { readFile, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createDeferred } from '../../../src/promises.ts';
import { MIB } from '../../support/constants.ts';
import { useFixture } from '../../support/fixtures.ts';
import { useFleet } from '../../support/fleet/fleet.ts';
import { download, startLargeService, upload } from '../../support/fleet/large-bodies.ts';

// Cloakroom runs in a separate process so that the tests can measure its memory.

const GIB = 1024 * MIB;
/** The maximum memory growth of a process for a body of any size. On a busy machine, Node 24 collects garbage late. */
const GROWTH = 96 * MIB;
/** The maximum number of body bytes that the kernel's socket buffers hold. */
const SOCKET_BUFFERS = 64 * MIB;

const service = useFixture(startLargeService);
const fleet = useFleet(() => ({
  env: { SERVICE_URL: service.origin, MAX_BODY_BYTES: String(2 * GIB) },
}));
let url: string;
let pid: number;
let cookie: string;
/** Peak memory after smaller bodies have warmed up the code and the heap. */
let warmPeak: number;
beforeAll(async () => {
  ({ url, pid } = fleet.at(0));
  ({ cookie } = await fleet.createSession());
  const peak = await watchPeak();
  await download(url, cookie, 256 * MIB);
  await upload(url, cookie, 256 * MIB);
  warmPeak = await peak();
});
beforeEach(() => {
  service.readAfter = Promise.resolve();
});

/** Returns the memory growth at the end or the rise of the peak above `warmPeak`, whichever is larger. */
async function growthDuring(run: () => Promise<void>): Promise<number> {
  const before = await readStatus('VmRSS');
  const peak = await watchPeak();
  await run();
  return Math.max((await readStatus('VmRSS')) - before, (await peak()) - warmPeak);
}

/** Resets the peak of resident memory. Returns a function that reads the peak since the reset, in bytes. */
async function watchPeak(): Promise<() => Promise<number>> {
  await writeFile(`/proc/${pid}/clear_refs`, '5'); // proc(5)
  return async () => readStatus('VmHWM');
}

async function readStatus(name: 'VmRSS' | 'VmHWM'): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const kib = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1];
  if (kib === undefined) throw new Error(`no ${name} of process ${pid}`);
  return Number(kib) * 1024;
}

/** Resolves with the number of bytes sent once that number no longer grows. */
async function stopped(progress: () => number): Promise<number> {
  for (let last = -1, quiet = 0; ;) {
    await delay(50);
    const sent = progress();
    quiet = sent > 0 && sent === last ? quiet + 1 : 0;
    if (quiet === 6) return sent;
    last = sent;
  }
}

describe('the gateway', () => {
  test('forwards a 1 GiB body from the service unchanged in constant memory', async () => {
    expect(await growthDuring(async () => download(url, cookie, GIB))).toBeLessThan(GROWTH);
  });

  test('forwards a 1 GiB body to the service unchanged in constant memory', async () => {
    expect(await growthDuring(async () => upload(url, cookie, GIB))).toBeLessThan(GROWTH);
  });
});

describe('backpressure in the gateway', () => {
  /** Checks that the sender pauses until the receiver resumes reading, and that memory growth stays within its limit. */
  async function expectPause(
    progress: { sent: number },
    transfer: (startReading: Promise<void>) => Promise<void>,
  ) {
    const { promise: startReading, resolve } = createDeferred<void>();
    const growth = await growthDuring(async () => {
      progress.sent = 0;
      const done = transfer(startReading);
      expect(await stopped(() => progress.sent)).toBeLessThan(SOCKET_BUFFERS);
      resolve();
      await done;
    });
    expect(growth).toBeLessThan(GROWTH);
  }

  test('pauses the service until the client resumes reading', async () => {
    await expectPause(service.progress, async (startReading) =>
      download(url, cookie, 256 * MIB, startReading),
    );
  });

  test('pauses the client until the service resumes reading', async () => {
    const progress = { sent: 0 };
    await expectPause(progress, async (startReading) => {
      service.readAfter = startReading;
      await upload(url, cookie, 256 * MIB, progress);
    });
  });
});
