import { expect, test } from '@jest/globals';
import { toFinding, warning } from '../../../../src/cli/doctor/finding.ts';
import { toJson, toText } from '../../../../src/cli/doctor/report.ts';

/** Text with a colour code, a window title (OSC), a line break, a C1 control sequence, right-to-left text and a tag character. */
const HOSTILE = 'seven\u001B[31m\u001B]0;owned\u0007\r\nok\u009B2J\u202Eeight\u{E0041}';

test.each([
  ['text', toText],
  ['JSON', toJson],
])('a %s report contains no terminal control characters from a server', (_, print) => {
  const output = print([toFinding('redis-eviction', 'Redis eviction', warning(HOSTILE, 'Nothing.'))]);
  expect(output.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  expect(output).toContain('seven\uFFFD[31m\uFFFD]0;owned\uFFFD\uFFFD\uFFFDok\uFFFD2J\uFFFDeight\uFFFD');
});
