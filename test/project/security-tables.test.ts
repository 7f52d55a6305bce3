import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';

const ROOT = new URL('../../', import.meta.url);
const TEXT = readFileSync(new URL('docs/security.md', ROOT), 'utf8');

const VERDICTS = new Set(['met', 'partly', 'not met', 'service', 'operator', 'n/a']);

/** The number of requirements in each section of ASVS 5.0.0. They are numbered from 1. */
const ASVS: Readonly<Record<string, readonly number[]>> = {
  V3: [1, 3, 5, 8, 8, 1, 5],
  V4: [5, 5, 2, 4],
  V7: [3, 4, 2, 5, 3, 2],
  V10: [2, 3, 5, 16, 5, 2, 3],
  V13: [4, 6, 4, 7],
  V14: [2, 8, 3],
  V16: [1, 5, 4, 3, 4],
};

describe.each(['RFC 10017', 'RFC 9700', 'OWASP ASVS 5.0'])('the tables for %s', (standard) => {
  const rows = rowsUnder(standard);

  test('have no empty cells', () => {
    expect(rows.length).toBeGreaterThan(20);
    for (const cells of rows) {
      expect(cells).toHaveLength(6);
      expect(cells).not.toContain('');
    }
  });

  test('contain each id once', () => {
    const ids = rows.map(([id]) => id);
    expect(ids.filter((id, at) => ids.indexOf(id) < at)).toEqual([]);
  });

  test('state the level and a verdict for each requirement', () => {
    const level = standard.startsWith('RFC') ? /^(?:MUST|MUST NOT|SHOULD|SHOULD NOT|advice)$/ : /^L[123]$/;
    for (const [id, asked, , verdict] of rows) {
      expect({ id, asked }).toEqual({ id, asked: expect.stringMatching(level) });
      expect({ id, known: VERDICTS.has(verdict ?? '') }).toEqual({ id, known: true });
    }
  });

  test('refer to a test or a document for each requirement that is fully or partly met', () => {
    const unshown = rows.filter(
      ([, , , verdict = '', , shownBy = '']) =>
        ['met', 'partly'].includes(verdict) && !/`test\/|\]\(/.test(shownBy),
    );
    expect(unshown.map(([id]) => id)).toEqual([]);
  });

  test('refer only to tests that exist', () => {
    const paths = rows.flatMap(([, , , , , shownBy = '']) => shownBy.match(/(?<=`)[^`, ]+(?=`)/g) ?? []);
    expect(paths.length).toBeGreaterThan(20);
    expect(paths.filter((path) => !path.endsWith('.test.ts') || !existsSync(new URL(path, ROOT)))).toEqual(
      [],
    );
  });
});

test('the ASVS table lists every requirement of its chapters', () => {
  const requirements = Object.entries(ASVS).flatMap(([chapter, sections]) =>
    sections.flatMap((count, section) =>
      Array.from({ length: count }, (_, at) => `${chapter.slice(1)}.${section + 1}.${at + 1}`),
    ),
  );
  expect(rowsUnder('OWASP ASVS 5.0').map(([id]) => id)).toEqual(requirements);
});

/** Returns the cells of the requirement tables under the heading that begins with these words. */
function rowsUnder(heading: string): string[][] {
  const section = TEXT.split('\n## ').find((part) => part.startsWith(heading)) ?? '';
  const lines = section.split('\n').filter((line) => /^\| *\d/.test(line));
  return lines.map((line) => {
    const cells = line.split(/(?<!\\)\|/).slice(1, -1);
    return cells.map((cell) => cell.trim());
  });
}
