import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { createAlarm } from '../../../public/alarm.js';
import { HOUR_MS } from '../../support/constants.ts';

beforeEach(() => {
  jest.useFakeTimers({ now: 1_000_000 });
});
afterEach(() => {
  jest.useRealTimers();
});

function startAlarm() {
  const ring = jest.fn();
  return { alarm: createAlarm(ring), ring };
}

test('It rings at its moment, once', () => {
  const { alarm, ring } = startAlarm();
  alarm.setTo(Date.now() + HOUR_MS);
  jest.advanceTimersByTime(HOUR_MS - 1);
  expect(ring).not.toHaveBeenCalled();
  jest.advanceTimersByTime(1);
  expect(ring).toHaveBeenCalledTimes(1);
  jest.advanceTimersByTime(HOUR_MS);
  expect(ring).toHaveBeenCalledTimes(1);
});

test('It rings soon after a computer has slept beyond its moment', () => {
  const { alarm, ring } = startAlarm();
  alarm.setTo(Date.now() + HOUR_MS);
  jest.setSystemTime(Date.now() + 2 * HOUR_MS); // timers stood still
  jest.advanceTimersByTime(30_000);
  expect(ring).toHaveBeenCalledTimes(1);
});

test('A moment that is past rings in a second: it can’t ring without end', () => {
  const { alarm, ring } = startAlarm();
  alarm.setTo(Date.now() - HOUR_MS);
  jest.advanceTimersByTime(999);
  expect(ring).not.toHaveBeenCalled();
  jest.advanceTimersByTime(1);
  expect(ring).toHaveBeenCalledTimes(1);
});

test('A new moment takes the place of the one before', () => {
  const { alarm, ring } = startAlarm();
  alarm.setTo(Date.now() + 5_000);
  alarm.setTo(Date.now() + HOUR_MS);
  jest.advanceTimersByTime(HOUR_MS - 1);
  expect(ring).not.toHaveBeenCalled();
  jest.advanceTimersByTime(1);
  expect(ring).toHaveBeenCalledTimes(1);
});

test('One that is cleared never rings', () => {
  const { alarm, ring } = startAlarm();
  alarm.setTo(Date.now() + 5_000);
  alarm.clear();
  jest.advanceTimersByTime(HOUR_MS);
  expect(ring).not.toHaveBeenCalled();
});
