import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';

const ROOT = new URL('../../', import.meta.url);
const TEXT = readFileSync(new URL('docs/compliance.md', ROOT), 'utf8');

const VERDICTS = new Set(['Met', 'Partly met', 'Not met', 'Service', 'Operator', 'Not applicable']);
const NEEDS_EVIDENCE = new Set(['Met', 'Partly met']);

/** The number of requirements in each RFC. */
const RFC_REQUIREMENTS: Readonly<Record<string, number>> = { 'RFC 10017': 30, 'RFC 9700': 76 };

/** The number of requirements in each section of ASVS 5.0.0. The requirements in a section are numbered from 1. */
const ASVS: Readonly<Record<string, readonly number[]>> = {
  V3: [1, 3, 5, 8, 8, 1, 5],
  V4: [5, 5, 2, 4],
  V7: [3, 4, 2, 5, 3, 2],
  V10: [2, 3, 5, 16, 5, 2, 3],
  V13: [4, 6, 4, 7],
  V14: [2, 8, 3],
  V16: [1, 5, 4, 3, 4],
};

const ID = String.raw`\d+(?:(?:\.\d+)+(?:-\d+)?|-\d+)`;
const LEVEL = String.raw`(?:L[123]|MUST NOT|MUST|SHOULD NOT|SHOULD|advice)`;
/** Ids that share a level, for example `7.3.1, 7.3.2 L2`. */
const IDS = new RegExp(String.raw`(?<![\w.-])(${ID}(?:, ${ID})*) (${LEVEL})(?![\w-])`, 'g');

/** A table row or list item with one or more requirements that have the same verdict. */
interface Entry {
  readonly text: string;
  readonly verdict: string;
  readonly requirements: readonly { readonly id: string; readonly level: string }[];
  /** The requirement for each group of ids, or the behaviour of Cloakroom in a table row. */
  readonly subjects: readonly string[];
  /** The text without the verdict, ids, subjects and tests. */
  readonly reason: string;
  readonly tests: readonly string[];
  readonly documents: readonly string[];
}

describe.each(['RFC 10017', 'RFC 9700', 'OWASP ASVS 5.0'])('the requirements of %s', (standard) => {
  const entries = entriesUnder(standard);
  const requirements = entries.flatMap((entry) => entry.requirements);

  test('are listed once each', () => {
    expect(requirements.length).toBeGreaterThan(20);
    const ids = requirements.map(({ id }) => id);
    expect(ids.filter((id, at) => ids.indexOf(id) < at)).toEqual([]);
  });

  test('have a level that the standard defines', () => {
    const level = standard.startsWith('RFC') ? /^(?:MUST|MUST NOT|SHOULD|SHOULD NOT|advice)$/ : /^L[123]$/;
    expect(requirements.filter((requirement) => !level.test(requirement.level))).toEqual([]);
  });

  test('have a verdict', () => {
    const faults = entries.filter(
      ({ verdict, requirements: own }) => !VERDICTS.has(verdict) || own.length === 0,
    );
    expect(faults.map(({ text }) => text)).toEqual([]);
  });

  test('have a description', () => {
    const faults = entries.filter(
      ({ subjects }) => subjects.length === 0 || subjects.some((subject) => subject === ''),
    );
    expect(faults.map(({ text }) => text)).toEqual([]);
  });

  test('refer to a test or a document if they are fully or partly met', () => {
    const faults = entries.filter(
      ({ verdict, tests, documents }) => NEEDS_EVIDENCE.has(verdict) && tests.length + documents.length === 0,
    );
    expect(faults.map(({ text }) => text)).toEqual([]);
  });

  test('have a reason if they are not fully met', () => {
    const faults = entries.filter(({ verdict, reason }) => verdict !== 'Met' && reason.split(' ').length < 3);
    expect(faults.map(({ text }) => text)).toEqual([]);
  });

  test('refer only to tests that exist', () => {
    const names = entries.flatMap(({ tests }) => tests);
    expect(names.length).toBeGreaterThan(20);
    expect(names.filter((name) => !existsSync(new URL(`test/${name}.test.ts`, ROOT)))).toEqual([]);
  });
});

test('docs/compliance.md lists every requirement of the RFCs', () => {
  for (const [standard, count] of Object.entries(RFC_REQUIREMENTS))
    expect(entriesUnder(standard).flatMap(({ requirements }) => requirements)).toHaveLength(count);
});

test('docs/compliance.md lists every requirement of the ASVS chapters, in the right chapter', () => {
  const chapters = sectionOf('OWASP ASVS 5.0').split('\n### ').slice(1);
  expect(chapters.map((chapter) => chapter.split(' ', 1)[0])).toEqual(Object.keys(ASVS));
  for (const chapter of chapters) {
    const [name = ''] = chapter.split(' ', 1);
    const ids = (ASVS[name] ?? []).flatMap((count, section) =>
      Array.from({ length: count }, (_, at) => `${name.slice(1)}.${section + 1}.${at + 1}`),
    );
    const listed = entriesOf(chapter).flatMap(({ requirements }) => requirements.map(({ id }) => id));
    expect(listed.toSorted()).toEqual(ids.toSorted());
  }
});

function sectionOf(heading: string): string {
  return TEXT.split('\n## ').find((part) => part.startsWith(`${heading}\n`)) ?? '';
}

function entriesUnder(heading: string): Entry[] {
  return entriesOf(sectionOf(heading));
}

/** Returns the table rows and list items in a section. */
function entriesOf(section: string): Entry[] {
  const rows = section.split('\n').filter((line) => /^\| (?!Id |-)/.test(line));
  const items = section.match(/^- [^]*?(?=\n\n|\n- |\n*$(?![^]))/gm) ?? [];
  return [...rows.map(toRowEntry), ...items.map((item) => toItemEntry(item.replaceAll(/\s+/g, ' ')))];
}

function toRowEntry(text: string): Entry {
  const cells = text
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim());
  const [ids = '', subject = '', evidence = ''] = cells;
  const isComplete = cells.length === 3 && ids.replaceAll(IDS, '').replaceAll(', ', '') === '';
  return {
    text,
    verdict: isComplete ? 'Met' : 'malformed row',
    requirements: requirementsIn(ids),
    subjects: [subject],
    reason: '',
    tests: codeIn(evidence),
    documents: linksIn(`${subject} ${evidence}`),
  };
}

function toItemEntry(text: string): Entry {
  const [, verdict = '', rest = ''] = /^- \*\*([^*]+)\.\*\* (.*)$/.exec(text) ?? [];
  // Ids, followed by their requirement in parentheses.
  const groups = new RegExp(String.raw`((?:${IDS.source},? )+)(?:\(((?:[^()]|\([^()]*\))*)\))?`, 'g');
  const subjects = [...rest.matchAll(groups)].map((match) => match.at(-1) ?? '');
  const tests = codeIn(rest).filter((code) => /^[\w-]+(?:\/[\w-]+)+$/.test(code));
  const reason = rest
    .replaceAll(groups, '')
    .replaceAll(/`[^`]+\/[^`]+`/g, '')
    .replaceAll(/[^\p{L}\d`_]+/gu, ' ')
    .trim();
  return {
    text,
    verdict,
    requirements: requirementsIn(rest),
    subjects,
    reason,
    tests,
    documents: linksIn(rest),
  };
}

function requirementsIn(text: string): { id: string; level: string }[] {
  return [...text.matchAll(IDS)].flatMap(([, ids = '', level = '']) =>
    ids.split(', ').map((id) => ({ id, level })),
  );
}

function linksIn(text: string): string[] {
  return [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => link);
}

function codeIn(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
}
