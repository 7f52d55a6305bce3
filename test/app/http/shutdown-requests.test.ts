import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { holdUp } from '../../support/hold-up.ts';
import { startStopwatch } from '../../support/stopwatch.ts';
import { createDrainable } from './drainable-server.ts';

/** Moves the clock of this process; its timers go on as before. */
let advance: (ms: number) => void;
beforeEach(() => {
  const now = performance.now.bind(performance);
  let skew = 0;
  advance = (ms) => {
    skew += ms;
  };
  jest.spyOn(performance, 'now').mockImplementation(() => now() + skew);
});
afterEach(() => {
  jest.restoreAllMocks();
});

type TestApp = Awaited<ReturnType<typeof serve>>;

/** A server whose responses tell whether the drain refuses the request. */
async function serve(behindLoadBalancer = false) {
  const drainable = await createDrainable(
    (_req, res, isRefused) => res.end(isRefused ? 'refused' : 'served'),
    { isReadinessCheck: ({ url }) => url === '/check', behindLoadBalancer },
  );
  await drainable.listen();
  return drainable;
}

/** A connection that the server has accepted. */
async function enter({ server, port }: TestApp): Promise<Socket> {
  const accepted = once(server, 'connection');
  const caller = connect(port, '127.0.0.1').setEncoding('utf8');
  const entered = Promise.all([accepted, once(caller, 'connect')]);
  await Promise.race([entered, once(caller, 'close')]); // rejects where it is refused
  return caller;
}

/** The answer to a call, or to a check. */
async function ask(caller: Socket, path = '/'): Promise<string> {
  caller.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`);
  const closed = once(caller, 'close').then(() => ['closed without an answer']);
  const [answer] = (await Promise.race([once(caller, 'data'), closed])) as [string];
  return answer;
}

describe('while it drains', () => {
  test('a call on an idle connection is refused, and closes it', async () => {
    const testApp = await serve();
    const caller = await enter(testApp);
    expect(await ask(caller)).toMatch(/served$/);
    const drained = testApp.drain(5_000);
    expect(await ask(caller)).toMatch(/connection: close[\s\S]*refused$/i);
    expect(await drained).toBe(true);
  });

  test('a call that came while the process was held up is answered, however long that was', async () => {
    const testApp = await serve();
    const caller = await enter(testApp);
    expect(await ask(caller)).toMatch(/served$/);
    const drained = testApp.drain(5_000);
    const answer = ask(caller);
    holdUp(1_000);
    expect(await answer).toMatch(/connection: close[\s\S]*refused$/i);
    expect(await drained).toBe(true);
  });

  test('the first call on a connection that was opened just before is served, and closes it', async () => {
    const testApp = await serve();
    const caller = await enter(testApp);
    const drained = testApp.drain(5_000);
    expect(await ask(caller)).toMatch(/connection: close[\s\S]*served$/i);
    expect(await drained).toBe(true);
  });

  test('the answer to a call under way closes its connection', async () => {
    const testApp = await serve();
    const caller = await enter(testApp);
    testApp.server.prependOnceListener('request', () => void testApp.drain(5_000));
    expect(await ask(caller)).toMatch(/connection: close/i);
    await once(caller, 'close');
  });

  test('a balancer gets no 503 for what it sends on an idle connection: that is closed at once', async () => {
    const testApp = await serve(true);
    const caller = await enter(testApp);
    await ask(caller);
    let heard = '';
    caller.on('data', (text: string) => (heard += text)).on('error', () => {}); // it may be a reset
    const closed = new Promise((resolve) => caller.once('close', resolve));
    const drained = testApp.drain(5_000);
    caller.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await closed;
    expect(heard).toBe('');
    expect(await drained).toBe(true);
  });
});

describe('where somebody checks at intervals whether it is ready', () => {
  const checkEvery = async (testApp: TestApp, ms: number) => {
    for (let times = 0; times < 3; times += 1) {
      advance(ms);
      const checker = await enter(testApp);
      await ask(checker, '/check');
      checker.destroy();
    }
  };

  test('a drain takes new connections until a check has been told, and no longer', async () => {
    const testApp = await serve(true);
    await checkEvery(testApp, 5_000);
    using watch = startStopwatch();
    const drained = testApp.drain(60_000);
    expect(await ask(await enter(testApp))).toMatch(/connection: close[\s\S]*served$/i);
    await ask(await enter(testApp), '/check');
    expect(await drained).toBe(true);
    expect(watch.ms()).toBeLessThan(10_000);
    await expect(enter(testApp)).rejects.toThrow('ECONNREFUSED');
  });

  /** Calls one after the other through a drain, until one is turned away; how long that took, and the longest time between two. */
  const callThroughDrain = async () => {
    const testApp = await serve(true);
    await checkEvery(testApp, 150);
    const began = performance.now();
    using watch = startStopwatch();
    const drained = testApp.drain(3_000);
    let [calledAt, pauseMs] = [began, 0];
    const served = async () => (await ask(await enter(testApp))).endsWith('served');
    for (let goesOn = true; goesOn && watch.ms() < 20_000; await delay(20)) {
      goesOn = await served().catch(() => false);
      const now = performance.now();
      pauseMs = Math.max(pauseMs, now - calledAt);
      calledAt = now;
    }
    return { pauseMs, ms: calledAt - began, stopwatchMs: watch.ms(), inTime: await drained };
  };

  test('a drain goes on to take them while calls still come, for a third of its time', async () => {
    let seen = await callThroughDrain();
    // Where this machine stood still no calls came for so long that a drain may end.
    for (let times = 1; seen.pauseMs > 300 && times < 10; times += 1) seen = await callThroughDrain();
    expect(seen.pauseMs).toBeLessThanOrEqual(300);
    // Without the calls it would have ended after the check that is due, and half a second.
    expect(seen.ms).toBeGreaterThan(950);
    expect(seen.stopwatchMs).toBeLessThan(2_500);
    expect(seen.inTime).toBe(true);
  });
});

test('somebody who has checked but once is not waited for', async () => {
  const testApp = await serve(true);
  await ask(await enter(testApp), '/check');
  const drained = testApp.drain(10_000);
  await expect(enter(testApp)).rejects.toThrow('ECONNREFUSED');
  expect(await drained).toBe(true);
});
