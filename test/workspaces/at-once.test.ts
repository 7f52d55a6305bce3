import { expect, test } from '@jest/globals';
import { createAtOnce } from '../../src/workspaces/at-once.ts';

test('A session has so many under way as are allowed, and again as many when it has left', () => {
  const enter = createAtOnce(2);
  const [first, second] = [enter('a'), enter('a')];
  expect(enter('a')).toBeNull();
  expect(enter('b')).not.toBeNull();
  first?.();
  expect(enter('a')).not.toBeNull();
  expect(enter('a')).toBeNull();
  second?.();
  expect(enter('a')).not.toBeNull();
});
