import { readFile, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createDeferred } from '../../../src/promises.ts';
import { MIB } from '../../support/constants.ts';
import { useFixture } from '../../support/fixtures.ts';
import { useFleet } from '../../support/fleet/fleet.ts';
import { download, startLargeService, upload } from '../../support/fleet/large-bodies.ts';

// In a process of its own, so that nothing else takes memory.

const GIB = 1024 * MIB;
/** How much a process may grow for one body of any size. On a busy machine Node 24 collects garbage late. */
const GROWTH = 96 * MIB;
/** How much of a body the kernel's socket buffers may hold. */
const SOCKET_BUFFERS = 64 * MIB;

const service = useFixture(startLargeService);
const fleet = useFleet(() => ({
  env: { SERVICE_URL: service.origin, MAX_BODY_BYTES: String(2 * GIB) },
}));
let url: string;
let pid: number;
let cookie: string;
/** Peak with smaller bodies, after which the code is compiled and the heap has grown. */
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
  service.goOn = Promise.resolve();
});

/** The growth of the process: at the end, or of its peak beyond the warm one. */
async function growthDuring(run: () => Promise<void>): Promise<number> {
  const before = await readStatus('VmRSS');
  const peak = await watchPeak();
  await run();
  return Math.max((await readStatus('VmRSS')) - before, (await peak()) - warmPeak);
}

/** Starts to watch resident memory; the result resolves with the peak since then, in bytes. */
async function watchPeak(): Promise<() => Promise<number>> {
  await writeFile(`/proc/${pid}/clear_refs`, '5'); // resets the peak of the kernel, proc(5)
  return async () => readStatus('VmHWM');
}

async function readStatus(name: 'VmRSS' | 'VmHWM'): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const kib = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1];
  if (kib === undefined) throw new Error(`no ${name} of process ${pid}`);
  return Number(kib) * 1024;
}

/** Resolves with the number of bytes sent once it grows no more. */
async function stopped(progress: () => number): Promise<number> {
  for (let last = -1, quiet = 0; ;) {
    await delay(50);
    const sent = progress();
    quiet = sent > 0 && sent === last ? quiet + 1 : 0;
    if (quiet === 6) return sent;
    last = sent;
  }
}

describe('the gateway passes a body of 1 GiB unchanged in constant memory', () => {
  test('from the service', async () => {
    expect(await growthDuring(async () => download(url, cookie, GIB))).toBeLessThan(GROWTH);
  });

  test('to the service', async () => {
    expect(await growthDuring(async () => upload(url, cookie, GIB))).toBeLessThan(GROWTH);
  });
});

describe('the gateway stops a sender until the other side reads on:', () => {
  test('the service', async () => {
    const { promise: goOn, resolve } = createDeferred<void>();
    const growth = await growthDuring(async () => {
      service.progress.sent = 0;
      const done = download(url, cookie, 256 * MIB, goOn);
      expect(await stopped(() => service.progress.sent)).toBeLessThan(SOCKET_BUFFERS);
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
      expect(await stopped(() => progress.sent)).toBeLessThan(SOCKET_BUFFERS);
      resolve();
      await done;
    });
    expect(growth).toBeLessThan(GROWTH);
  });
});
