import { beforeEach, expect, test } from '@jest/globals';
import { createGatheredWrites } from '../../../src/redis/gathered-writes.ts';
import type { GatheredWrites } from '../../../src/redis/gathered-writes.ts';

let written: string[];
let writes: GatheredWrites;

beforeEach(() => {
  const ours: string[] = [];
  writes = createGatheredWrites((text) => ours.push(text)); // what a test leaves unsent never gets to the next one
  written = ours;
});

const turn = async () => new Promise((resolve) => setImmediate(resolve));
const add = (...texts: string[]) => texts.forEach((text) => writes.add(text));

/** What comes now comes behind several that came at a time. */
async function afterSeveral(): Promise<void> {
  add('x', 'y');
  await turn();
  written.length = 0;
}

test('nothing is written in the turn in which it is added', () => {
  add('a');
  expect(written).toEqual([]);
});

test('what comes alone leaves at the end of its turn, again and again', async () => {
  for (const text of ['a', 'b', 'c']) {
    add(text);
    await turn();
    expect(written.at(-1)).toBe(text);
  }
});

test('what comes in one turn leaves in one write, in its order', async () => {
  add('a', 'b', 'c');
  await turn();
  expect(written).toEqual(['abc']);
});

test('behind several, what comes in two turns leaves in one write', async () => {
  await afterSeveral();
  add('a', 'b');
  await turn();
  expect(written).toEqual([]);
  add('c');
  await turn();
  expect(written).toEqual(['abc']);
});

test('behind one that came alone the next one leaves at the end of its turn', async () => {
  await afterSeveral();
  add('alone');
  await turn();
  await turn();
  expect(written).toEqual(['alone']);
  add('next');
  await turn();
  expect(written).toEqual(['alone', 'next']);
});

test('what is dropped is not written, and what comes after it is', async () => {
  add('lost');
  writes.drop();
  add('kept');
  await turn();
  expect(written).toEqual(['kept']);
});

test('where all is dropped nothing is written', async () => {
  add('lost');
  writes.drop();
  await turn();
  expect(written).toEqual([]);
});
