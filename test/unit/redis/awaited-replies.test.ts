import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { createAwaitedReplies } from '../../../src/redis/awaited-replies.ts';
import type { AwaitedReplies } from '../../../src/redis/awaited-replies.ts';
import { StoreUnavailableError } from '../../../src/errors.ts';
import { RedisTimeoutError } from '../../../src/redis/watchdog.ts';

let awaited: AwaitedReplies<string>;
let silences: number;
let outcomes: Map<string, unknown>;

beforeEach(() => {
  jest.useFakeTimers();
  silences = 0;
  outcomes = new Map();
  awaited = createAwaitedReplies(() => {
    silences += 1;
    awaited.lose();
  });
});
afterEach(() => {
  jest.useRealTimers();
});

const ask = (name: string) => {
  awaited.add().then(
    (reply) => outcomes.set(name, reply),
    (error: unknown) => outcomes.set(name, error),
  );
};
const pass = async (ms: number) => jest.advanceTimersByTimeAsync(ms);
const late = expect.objectContaining({ cause: new RedisTimeoutError() });
const lost = expect.objectContaining({ cause: new Error('The connection to Redis is lost') });

test('replies go to those who asked, in their order', async () => {
  ['a', 'b', 'c'].forEach(ask);
  ['1', '2', '3'].forEach((reply) => awaited.next()?.resolve(reply));
  await pass(10_000);
  expect([...outcomes]).toEqual([
    ['a', '1'],
    ['b', '2'],
    ['c', '3'],
  ]);
  expect(silences).toBe(0);
});

test('nobody is next where nobody asked', () => {
  expect(awaited.next()).toBeUndefined();
});

test('a reply is waited for for a second and a half', async () => {
  ask('a');
  await pass(1_499);
  expect(outcomes.size).toBe(0);
  await pass(2);
  expect(outcomes.get('a')).toBeInstanceOf(StoreUnavailableError);
  expect(outcomes.get('a')).toEqual(late);
});

test('each has its own second and a half, though nobody in front is left', async () => {
  ask('a');
  await pass(300);
  ask('b');
  awaited.next()?.resolve('1');
  await pass(1_499);
  expect([...outcomes]).toEqual([['a', '1']]);
  await pass(2);
  expect(outcomes.get('b')).toEqual(late);
});

test('who asked a little later is given up a little later', async () => {
  ask('a');
  await pass(100);
  ask('b');
  await pass(1_450);
  expect([...outcomes.keys()]).toEqual(['a']);
  await pass(51);
  expect(outcomes.get('b')).toEqual(late);
  expect(silences).toBe(0);
});

test('a reply that comes late is dropped, and the next one gets its own', async () => {
  ask('a');
  await pass(1_600);
  ask('b');
  awaited.next()?.resolve('late');
  awaited.next()?.resolve('2');
  await pass(10_000);
  expect(outcomes.get('a')).toEqual(late);
  expect(outcomes.get('b')).toBe('2');
  expect(silences).toBe(0);
});

test('the connection counts as silent after 1.7 s, and what was asked since is lost with it', async () => {
  ask('a');
  await pass(1_000);
  ask('b');
  await pass(699);
  expect(silences).toBe(0);
  await pass(2);
  expect(silences).toBe(1);
  expect(outcomes.get('b')).toEqual(lost);
});

test('after a loss the next ones have their time again', async () => {
  ask('a');
  awaited.lose();
  await pass(1_000);
  ask('b');
  await pass(1_499);
  expect([...outcomes]).toEqual([['a', lost]]);
  await pass(2);
  expect(outcomes.get('b')).toEqual(late);
});
