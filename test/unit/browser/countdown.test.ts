import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { createAlarm } from '../../../src/browser/alarm.ts';
import { countDown, formatDuration } from '../../../src/browser/countdown.ts';
import { HOUR_MS } from '../../support/constants.ts';

beforeEach(() => {
  jest.useFakeTimers({ now: 1_000_000 });
});
afterEach(() => {
  jest.useRealTimers();
});

describe('a countdown', () => {
  const start = (ms: number) => {
    const shown: number[] = [];
    return { shown, stop: countDown(Date.now() + ms, (left) => shown.push(left)) };
  };

  test('shows whole seconds, starting immediately and ending at zero', () => {
    const { shown } = start(2_300);
    jest.advanceTimersByTime(299);
    expect(shown).toEqual([3]);
    jest.advanceTimersByTime(1);
    expect(shown).toEqual([3, 2]);
    jest.advanceTimersByTime(10_000);
    expect(shown).toEqual([3, 2, 1, 0]);
  });

  test('to a moment in the past shows zero', () => {
    const { shown } = start(-5_000);
    jest.runAllTimers();
    expect(shown).toEqual([0]);
  });

  test('shows the correct remaining time after the computer has slept', () => {
    const { shown } = start(10_000);
    jest.setSystemTime(Date.now() + 7_000);
    jest.advanceTimersByTime(1_000);
    expect(shown).toEqual([10, 2]);
  });

  test('no longer updates once it is stopped', () => {
    const { shown, stop } = start(10_000);
    stop();
    jest.advanceTimersByTime(60_000);
    expect(shown).toEqual([10]);
  });
});

test.each([
  [0, '0 seconds'],
  [1, '1 second'],
  [59, '59 seconds'],
  [60, '1 minute'],
  [100, '1 minute 40 seconds'],
  [121, '2 minutes 1 second'],
])('%d seconds are formatted as “%s”', (seconds, words) => {
  expect(formatDuration(seconds)).toBe(words);
});

describe('an alarm', () => {
  const start = (...moments: number[]) => {
    const onDue = jest.fn();
    const alarm = createAlarm(onDue);
    for (const ms of moments) alarm.setTo(Date.now() + ms);
    return { alarm, onDue };
  };

  test.each([
    ['at its time', [HOUR_MS], HOUR_MS],
    ['after a second if its time is in the past, so that it never fires in a loop', [-HOUR_MS], 1_000],
    ['at a new time that replaces the earlier time', [5_000, HOUR_MS], HOUR_MS],
  ])('fires once %s', (_when, moments, firesAfterMs) => {
    const { onDue } = start(...moments);
    jest.advanceTimersByTime(firesAfterMs - 1);
    expect(onDue).not.toHaveBeenCalled();
    jest.advanceTimersByTime(1);
    expect(onDue).toHaveBeenCalledTimes(1);
    jest.advanceTimersByTime(HOUR_MS);
    expect(onDue).toHaveBeenCalledTimes(1);
  });

  test('fires soon after the computer wakes up if it was due during sleep', () => {
    const { onDue } = start(HOUR_MS);
    jest.setSystemTime(Date.now() + 2 * HOUR_MS); // timers do not run during sleep
    jest.advanceTimersByTime(30_000);
    expect(onDue).toHaveBeenCalledTimes(1);
  });

  test('never fires once it is cleared', () => {
    const { alarm, onDue } = start(5_000);
    alarm.clear();
    jest.advanceTimersByTime(HOUR_MS);
    expect(onDue).not.toHaveBeenCalled();
  });
});
