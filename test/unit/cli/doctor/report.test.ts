import { expect, test } from '@jest/globals';
import type { Finding } from '../../../../src/cli/doctor/finding.ts';
import { toJson, toText } from '../../../../src/cli/doctor/report.ts';

const finding: Finding = {
  id: 'redis-version',
  status: 'warning',
  title: 'Version of Redis',
  detail: 'Redis 7.2.',
  remedy: 'Nothing.',
};

/** Of what there is: colours, a title (OSC), another line, C1’s way to begin a sequence, letters that run the other way, a tag. */
const HOSTILE = 'seven\u001B[31m\u001B]0;owned\u0007\r\nok\u009B2J\u202Eeight\u{E0041}';
const PARTS = ['title', 'detail', 'remedy'] as const;

test.each(PARTS)('no %s reaches a terminal as a command to it', (part) => {
  const text = toText([{ ...finding, [part]: HOSTILE }]);
  expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  expect(text).toContain('seven\uFFFD[31m\uFFFD]0;owned\uFFFD\uFFFD\uFFFDok\uFFFD2J\uFFFDeight\uFFFD');
});

test.each(PARTS)('nor as JSON does a %s, and a program reads it as it was', (part) => {
  const json = toJson([{ ...finding, [part]: HOSTILE }]);
  expect(json.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  expect(JSON.parse(json)).toMatchObject({ checks: [{ [part]: HOSTILE }] });
});
