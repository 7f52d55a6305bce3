import { describe, expect, test } from '@jest/globals';
import { RequestAbortedError } from '../../../src/gateway/api-request.ts';
import { createConcurrencyLimits } from '../../../src/gateway/concurrency.ts';

const createLimits = () => createConcurrencyLimits({ requests: 6, requestsPerSession: 3, connections: 2 });
const TOO_BUSY = expect.objectContaining({ code: 'too_busy' });

describe('a slot', () => {
  test('is refused once its session or the process has reached its limit', () => {
    const limits = createLimits();
    for (const session of ['a', 'a', 'a']) limits.acquire(session);
    expect(() => limits.acquire('a')).toThrow(TOO_BUSY);
    for (const session of ['b', 'c', 'd']) limits.acquire(session);
    expect(() => limits.acquire('e')).toThrow(TOO_BUSY);
    expect(limits.inFlight).toBe(6);
  });

  test('is refused once its session has half of the slots that other sessions leave free, so a few sessions never take all slots', () => {
    const limits = createConcurrencyLimits({ requests: 2048, requestsPerSession: 512, connections: 128 });
    const acquired = ['a', 'b', 'c', 'd', 'e', 'f'].map((session) => {
      const before = limits.inFlight;
      expect(() => {
        for (;;) limits.acquire(session);
      }).toThrow(TOO_BUSY);
      return limits.inFlight - before;
    });
    expect(acquired).toEqual([512, 512, 512, 256, 128, 64]);
    expect(() => limits.acquire('g')).not.toThrow();
  });

  test('is granted again once other sessions release their slots', () => {
    const limits = createLimits();
    const slots = ['a', 'a', 'a'].map((session) => limits.acquire(session));
    limits.acquire('b');
    expect(() => limits.acquire('b')).toThrow(TOO_BUSY);
    for (const slot of slots) slot.release();
    for (const session of ['b', 'b']) limits.acquire(session);
  });

  test('is released only once, even if release() is called twice', () => {
    const limits = createLimits();
    const slots = ['a', 'a', 'a'].map((session) => limits.acquire(session));
    slots[0]?.release();
    slots[0]?.release();
    expect(limits.inFlight).toBe(2);
    limits.acquire('a');
    expect(() => limits.acquire('a')).toThrow(TOO_BUSY);
  });
});

describe('a request that is waiting for a connection', () => {
  test('gets a connection in order of arrival, once an earlier request in its session ends', async () => {
    const limits = createLimits();
    const [first, second, third] = ['a', 'a', 'a'].map((session) => limits.acquire(session));
    expect(first?.waitForConnection(1_000)).toBeNull();
    const order: string[] = [];
    const turns = [
      second?.waitForConnection(1_000)?.then(() => order.push('second')),
      third?.waitForConnection(1_000)?.then(() => order.push('third')),
    ];
    first?.release();
    await turns[0];
    expect(order).toEqual(['second']);
    second?.release();
    await turns[1];
    expect(order).toEqual(['second', 'third']);
  });

  test('gets a connection before later requests, once requests in other sessions end', async () => {
    const limits = createConcurrencyLimits({ requests: 1000, requestsPerSession: 100, connections: 8 });
    const others = ['a', 'a', 'a', 'a'].map((session) => limits.acquire(session));
    for (const other of others) expect(other.waitForConnection(1_000)).toBeNull();
    const ours = ['b', 'b', 'b', 'b', 'b'].map((session) => limits.acquire(session));
    const turns = ours.map((slot) => slot.waitForConnection(1_000));
    expect(turns.map((turn) => turn === null)).toEqual([true, true, false, false, false]);
    for (const other of others) other.release();
    await Promise.all([turns[2], turns[3]]);
    const late = limits.acquire('b');
    const lateTurn = late.waitForConnection(1_000);
    ours[0]?.release();
    await turns[4];
    late.release();
    await expect(lateTurn).rejects.toThrow(RequestAbortedError);
  });

  test('never gets a connection after its client disconnects, so other requests can use the connection', () => {
    const limits = createLimits();
    const [disconnected, next] = ['a', 'a'].map((session) => limits.acquire(session));
    disconnected?.release();
    expect(() => disconnected?.waitForConnection(1_000)).toThrow(RequestAbortedError);
    expect(next?.waitForConnection(1_000)).toBeNull();
  });

  test('fails when its client disconnects or its timeout expires', async () => {
    const limits = createLimits();
    const [first, disconnecting, late] = ['a', 'a', 'a'].map((session) => limits.acquire(session));
    expect(first?.waitForConnection(1_000)).toBeNull();
    const disconnected = disconnecting?.waitForConnection(1_000);
    disconnecting?.release();
    await expect(disconnected).rejects.toThrow(RequestAbortedError);
    await expect(late?.waitForConnection(1)).rejects.toMatchObject({ code: 'service_timeout' });
    first?.release();
    expect(limits.acquire('a').waitForConnection(1_000)).toBeNull();
  });

  test('gets no connection once its session has half of the connections that other sessions leave free', () => {
    const limits = createConcurrencyLimits({ requests: 1000, requestsPerSession: 100, connections: 16 });
    const acquired = ['a', 'b', 'c', 'd', 'e'].map((session) => {
      const turns = Array.from({ length: 20 }, () => limits.acquire(session).waitForConnection(10));
      for (const turn of turns) turn?.catch(() => {}); // ignore the timeouts that follow
      return turns.filter((turn) => turn === null).length;
    });
    expect(acquired).toEqual([8, 4, 2, 1, 1]);
  });
});
