import { expect, test } from '@jest/globals';
import { createItemTrail } from '../../../../src/workspaces/export/item-trail.ts';

function digestOf(...items: string[]): string {
  const trail = createItemTrail();
  for (const item of items) trail.add(item);
  return trail.digest();
}

test('Items with the same ids in the same order leave the same trail, whatever else is in them', () => {
  expect(digestOf('{"id":1,"a":2}', '{"b":3,"id":"x"}')).toBe(digestOf('{"id":1}', '{"id":"x"}'));
});

test.each([
  [
    ['{"id":1}', '{"id":23}'],
    ['{"id":12}', '{"id":3}'],
  ],
  [['{"id":1}'], ['{"id":"1"}']],
  [
    ['{"id":1}', '{"id":2}'],
    ['{"id":2}', '{"id":1}'],
  ],
  [['{"id":1}'], ['{"id":1}', '{"id":1}']],
  [['{"id":null,"a":1}'], ['{"id":null,"a":2}']],
  [['1'], ['{"id":1,"id":2}']],
])('%j and %j leave different ones', (one, other) => {
  expect(digestOf(...one)).not.toBe(digestOf(...other));
});
