import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { countDown, inShort, inWords } from '../../../public/countdown.js';
import { createAlarm } from '../../../public/alarm.js';
import { HOUR_MS } from '../../support/constants.ts';

beforeEach(() => {
  jest.useFakeTimers({ now: 1_000_000 });
});
afterEach(() => {
  jest.useRealTimers();
});

test('a countdown shows whole seconds as they pass, at once and down to zero', () => {
  const shown: number[] = [];
  countDown(Date.now() + 2_300, (left) => shown.push(left));
  expect(shown).toEqual([3]);
  jest.advanceTimersByTime(299);
  expect(shown).toEqual([3]);
  jest.advanceTimersByTime(1);
  expect(shown).toEqual([3, 2]);
  jest.advanceTimersByTime(10_000);
  expect(shown).toEqual([3, 2, 1, 0]);
});

test('a countdown to a moment in the past shows zero', () => {
  const shown: number[] = [];
  countDown(Date.now() - 5_000, (left) => shown.push(left));
  jest.runAllTimers();
  expect(shown).toEqual([0]);
});

test('after the computer has slept, a countdown shows the time that is really left', () => {
  const shown: number[] = [];
  countDown(Date.now() + 10_000, (left) => shown.push(left));
  jest.setSystemTime(Date.now() + 7_000);
  jest.advanceTimersByTime(1_000);
  expect(shown).toEqual([10, 2]);
});

test('a stopped countdown shows nothing more', () => {
  const shown: number[] = [];
  countDown(Date.now() + 10_000, (left) => shown.push(left))();
  jest.advanceTimersByTime(60_000);
  expect(shown).toEqual([10]);
});

test.each([
  [0, '0 s', '0 seconds'],
  [1, '1 s', '1 second'],
  [59, '59 s', '59 seconds'],
  [60, '1 min', '1 minute'],
  [100, '1 min 40 s', '1 minute 40 seconds'],
  [121, '2 min 1 s', '2 minutes 1 second'],
])('%d seconds are “%s” for the eye, “%s” for the ear', (seconds, short, words) => {
  expect([inShort(seconds), inWords(seconds)]).toEqual([short, words]);
});

function startAlarm() {
  const ring = jest.fn();
  return { alarm: createAlarm(ring), ring };
}

test('an alarm rings once, at its moment', () => {
  const { alarm, ring } = startAlarm();
  alarm.setTo(Date.now() + HOUR_MS);
  jest.advanceTimersByTime(HOUR_MS - 1);
  expect(ring).not.toHaveBeenCalled();
  jest.advanceTimersByTime(1);
  expect(ring).toHaveBeenCalledTimes(1);
  jest.advanceTimersByTime(HOUR_MS);
  expect(ring).toHaveBeenCalledTimes(1);
});

test('an alarm rings soon after the computer has slept beyond its moment', () => {
  const { alarm, ring } = startAlarm();
  alarm.setTo(Date.now() + HOUR_MS);
  jest.setSystemTime(Date.now() + 2 * HOUR_MS); // timers stood still
  jest.advanceTimersByTime(30_000);
  expect(ring).toHaveBeenCalledTimes(1);
});

test('an alarm for a moment in the past rings in a second, so that it never rings without end', () => {
  const { alarm, ring } = startAlarm();
  alarm.setTo(Date.now() - HOUR_MS);
  jest.advanceTimersByTime(999);
  expect(ring).not.toHaveBeenCalled();
  jest.advanceTimersByTime(1);
  expect(ring).toHaveBeenCalledTimes(1);
});

test('a new moment replaces the earlier one', () => {
  const { alarm, ring } = startAlarm();
  alarm.setTo(Date.now() + 5_000);
  alarm.setTo(Date.now() + HOUR_MS);
  jest.advanceTimersByTime(HOUR_MS - 1);
  expect(ring).not.toHaveBeenCalled();
  jest.advanceTimersByTime(1);
  expect(ring).toHaveBeenCalledTimes(1);
});

test('a cleared alarm never rings', () => {
  const { alarm, ring } = startAlarm();
  alarm.setTo(Date.now() + 5_000);
  alarm.clear();
  jest.advanceTimersByTime(HOUR_MS);
  expect(ring).not.toHaveBeenCalled();
});
