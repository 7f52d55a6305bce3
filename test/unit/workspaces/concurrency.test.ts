import { expect, test } from '@jest/globals';
import { createConcurrencyLimiter } from '../../../src/workspaces/concurrency.ts';

test('A session has so many under way as are allowed, and again as many when it has left', () => {
  const enter = createConcurrencyLimiter({ perSession: 2 });
  const [first, second] = [enter('a'), enter('a')];
  expect(enter('a')).toBeNull();
  expect(enter('b')).not.toBeNull();
  first?.();
  expect(enter('a')).not.toBeNull();
  expect(enter('a')).toBeNull();
  second?.();
  expect(enter('a')).not.toBeNull();
});

test('A session has half of what others leave, at least two, so that a few that take all they get leave some', () => {
  const enter = createConcurrencyLimiter({ perSession: 5, total: 12 });
  const taken = ['a', 'b', 'c', 'd', 'e'].map((session) => {
    const entered = Array.from({ length: 12 }, () => enter(session)).filter((leave) => leave !== null);
    return { count: entered.length, leave: entered[0] };
  });
  expect(taken.map(({ count }) => count)).toEqual([5, 3, 2, 2, 2]);
  for (const { leave } of taken) leave?.();
  expect(enter('a')).toBeNull();
  expect(enter('e')).not.toBeNull();
});
