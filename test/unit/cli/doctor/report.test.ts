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

/** A colour, a window title (OSC), a line break, a C1 control sequence, right-to-left text and a tag character. */
const HOSTILE = 'seven\u001B[31m\u001B]0;owned\u0007\r\nok\u009B2J\u202Eeight\u{E0041}';
const PARTS = ['title', 'detail', 'remedy'] as const;

test.each(PARTS)('a terminal does not obey the %s of a finding', (part) => {
  const text = toText([{ ...finding, [part]: HOSTILE }]);
  expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  expect(text).toContain('seven\uFFFD[31m\uFFFD]0;owned\uFFFD\uFFFD\uFFFDok\uFFFD2J\uFFFDeight\uFFFD');
});

test.each(PARTS)(
  'JSON escapes what a terminal obeys in the %s of a finding, and a program reads it unchanged',
  (part) => {
    const json = toJson([{ ...finding, [part]: HOSTILE }]);
    expect(json.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(JSON.parse(json)).toMatchObject({ checks: [{ [part]: HOSTILE }] });
  },
);
