import { expect, test } from '@jest/globals';
import type { Finding } from '../../../src/cli/doctor/checks.ts';
import { toText } from '../../../src/cli/doctor/report.ts';

const finding: Finding = {
  id: 'redis-version',
  status: 'warning',
  title: 'Version of Redis',
  detail: 'Redis 7.2.',
  remedy: 'Nothing.',
};

test.each(['title', 'detail', 'remedy'] as const)('no %s reaches a terminal as a command to it', (part) => {
  // Of what there is: colours, a title (OSC), another line, C1’s way to begin a sequence, and letters that run the other way.
  const hostile = 'seven\u001B[31m\u001B]0;owned\u0007\r\nok\u009B2J\u202Eeight';
  const text = toText([{ ...finding, [part]: hostile }]);
  expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  expect(text).toContain('seven\uFFFD[31m\uFFFD]0;owned\uFFFD\uFFFD\uFFFDok\uFFFD2J\uFFFDeight');
});
