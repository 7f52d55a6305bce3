import { describe, expect, test } from '@jest/globals';
import { createCallBounds } from '../../../src/gateway/concurrency.ts';
import { CallAbortedError, ServiceTimeoutError } from '../../../src/gateway/service-call-errors.ts';

const createBounds = () => createCallBounds({ mostCalls: 6, mostCallsPerSession: 3, connections: 2 });

describe('a place among the calls', () => {
  test('is refused past what a session may have, and past what all may have', () => {
    const bounds = createBounds();
    for (const session of ['a', 'a', 'a']) bounds.enter(session);
    expect(() => bounds.enter('a')).toThrow(expect.objectContaining({ code: 'too_busy' }));
    for (const session of ['b', 'c', 'd']) bounds.enter(session);
    expect(() => bounds.enter('e')).toThrow(expect.objectContaining({ code: 'too_busy' }));
    expect(bounds.inFlight).toBe(6);
  });

  test('goes to a session for half of what others leave, so that a few that take all they get leave some', () => {
    const bounds = createCallBounds({ mostCalls: 2048, mostCallsPerSession: 512, connections: 128 });
    const taken = ['a', 'b', 'c', 'd', 'e', 'f'].map((session) => {
      const before = bounds.inFlight;
      expect(() => {
        for (;;) bounds.enter(session);
      }).toThrow('Too many requests');
      return bounds.inFlight - before;
    });
    expect(taken).toEqual([512, 512, 512, 256, 128, 64]);
    expect(() => bounds.enter('g')).not.toThrow();
  });

  test('comes back to a session as others leave theirs', () => {
    const bounds = createBounds();
    const slots = ['a', 'a', 'a'].map((session) => bounds.enter(session));
    bounds.enter('b');
    expect(() => bounds.enter('b')).toThrow('Too many requests');
    for (const slot of slots) slot.leave();
    for (const session of ['b', 'b']) bounds.enter(session);
  });

  test('is free again once it is left, however often', () => {
    const bounds = createBounds();
    const slots = ['a', 'a', 'a'].map((session) => bounds.enter(session));
    slots[0]?.leave();
    slots[0]?.leave();
    expect(bounds.inFlight).toBe(2);
    bounds.enter('a');
    expect(() => bounds.enter('a')).toThrow('Too many requests');
  });
});

describe('the turn of a call', () => {
  test('comes when one before it leaves, in the order in which they asked', async () => {
    const bounds = createBounds();
    const [first, second, third] = ['a', 'a', 'a'].map((session) => bounds.enter(session));
    expect(first?.turn(1_000)).toBeNull();
    const order: string[] = [];
    const turns = [
      second?.turn(1_000)?.then(() => order.push('second')),
      third?.turn(1_000)?.then(() => order.push('third')),
    ];
    first?.leave();
    await turns[0];
    expect(order).toEqual(['second']);
    second?.leave();
    await turns[1];
    expect(order).toEqual(['second', 'third']);
  });

  test('comes to calls that wait when those of other sessions leave, before any that come later', async () => {
    const bounds = createCallBounds({ mostCalls: 1000, mostCallsPerSession: 100, connections: 8 });
    const others = ['a', 'a', 'a', 'a'].map((session) => bounds.enter(session));
    for (const other of others) expect(other.turn(1_000)).toBeNull();
    const ours = ['b', 'b', 'b', 'b', 'b'].map((session) => bounds.enter(session));
    const turns = ours.map((slot) => slot.turn(1_000));
    expect(turns.map((turn) => turn === null)).toEqual([true, true, false, false, false]);
    for (const other of others) other.leave();
    await Promise.all([turns[2], turns[3]]);
    const late = bounds.enter('b');
    const lateTurn = late.turn(1_000);
    ours[0]?.leave();
    await turns[4];
    late.leave();
    await expect(lateTurn).rejects.toThrow(CallAbortedError);
  });

  test('never comes to one that has left, which takes no share', () => {
    const bounds = createBounds();
    const [gone, next] = ['a', 'a'].map((session) => bounds.enter(session));
    gone?.leave();
    expect(() => gone?.turn(1_000)).toThrow(CallAbortedError);
    expect(next?.turn(1_000)).toBeNull();
  });

  test('is given up when its call leaves or when it takes too long', async () => {
    const bounds = createBounds();
    const [first, leaving, late] = ['a', 'a', 'a'].map((session) => bounds.enter(session));
    expect(first?.turn(1_000)).toBeNull();
    const left = leaving?.turn(1_000);
    leaving?.leave();
    await expect(left).rejects.toThrow(CallAbortedError);
    await expect(late?.turn(1)).rejects.toThrow(ServiceTimeoutError);
    first?.leave();
    expect(bounds.enter('a').turn(1_000)).toBeNull();
  });

  test('of another session comes at once', () => {
    const bounds = createBounds();
    expect(bounds.enter('a').turn(1_000)).toBeNull();
    expect(bounds.enter('b').turn(1_000)).toBeNull();
  });

  test('comes to half of what others leave, so that there is always some for one more', () => {
    const bounds = createCallBounds({ mostCalls: 1000, mostCallsPerSession: 100, connections: 16 });
    const taken = ['a', 'b', 'c', 'd', 'e'].map((session) => {
      const turns = Array.from({ length: 20 }, () => bounds.enter(session).turn(10));
      for (const turn of turns) turn?.catch(() => {}); // they give up in a moment
      return turns.filter((turn) => turn === null).length;
    });
    expect(taken).toEqual([8, 4, 2, 1, 1]);
  });
});
