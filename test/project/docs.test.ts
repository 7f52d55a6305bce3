import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { ROOT } from '../support/constants.ts';

const DOCUMENTS = [
  ...readdirSync(ROOT),
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' }).map((file) => `docs/${file}`),
].filter((file) => file.endsWith('.md'));

describe.each(DOCUMENTS)('%s', (file) => {
  const text = readFileSync(join(ROOT, file), 'utf8');

  test('has no broken links or images', () => {
    expect(deadLinks(file, text)).toEqual([]);
  });

  test('refers only to files that exist', () => {
    expect(missingFiles(text)).toEqual([]);
  });
});

test('README and docs together have at most 30,000 words', () => {
  const counted = DOCUMENTS.filter((file) => file === 'README.md' || file.startsWith('docs/'));
  const words = counted.map((file) => readFileSync(join(ROOT, file), 'utf8').trim().split(/\s+/).length);
  expect(words.reduce((sum, count) => sum + count)).toBeLessThanOrEqual(30_000);
});

test('README has at most 110 lines', () => {
  expect(readFileSync(join(ROOT, 'README.md'), 'utf8').trimEnd().split('\n').length).toBeLessThanOrEqual(110);
});

test.each(DOCUMENTS.filter((file) => /^docs\/[^/]+$/.test(file)))('%s begins with its questions', (file) => {
  const text = readFileSync(join(ROOT, file), 'utf8');
  expect(text).toMatch(/^# .+\n\n[^#]+?\nThis page answers:\n\n- /);
});

test.each(DOCUMENTS.filter((file) => file.startsWith('docs/decisions/')))(
  '%s has context, decision and price',
  (file) => {
    const headings = readFileSync(join(ROOT, file), 'utf8').match(/^## .*$/gm);
    expect(headings).toEqual(['## Context', '## Decision', '## Price']);
  },
);

describe('the link checks', () => {
  const here = 'docs/api.md';

  test.each([
    ['a file', '[a](../docs/nowhere.md)', '../docs/nowhere.md'],
    ['an image', '![a](images/nowhere.png)', 'images/nowhere.png'],
    ['a heading', '[a](security.md#nothing-of-this)', 'security.md#nothing-of-this'],
    ['a heading on the same page', '[a](#nothing-of-this)', '#nothing-of-this'],
    ['a file outside the project', '[a](../../elsewhere)', '../../elsewhere'],
    ['a file with an absolute path', '[a](/docs/api.md)', '/docs/api.md'],
    ['a file in a reference link', '[a]\n\n[a]: nowhere.md', 'nowhere.md'],
    ['an image in HTML markup', '<img src="nowhere.png">', 'nowhere.png'],
  ])('find a missing target: %s', (_what, text, link) => {
    expect(deadLinks(here, text)).toEqual([link]);
  });

  test.each([
    '[a](api.md), ![b](images/console.png), [c](../src)',
    '# A heading, *with* `code()`\n[a](#a-heading-with-code)',
    '# Twice\n# Twice\n[a](#twice-1)',
    '[a](https://example.com/nowhere.md)',
    '`[a](nowhere.md)`',
    '```md\n[a](nowhere.md)\n```',
  ])('accept %j', (text) => {
    expect(deadLinks(here, text)).toEqual([]);
  });

  test('find a missing file in a code span', () => {
    expect(missingFiles('`test/nowhere.test.ts` and `src/app.ts`')).toEqual(['test/nowhere.test.ts']);
  });
});

/** Returns the relative links in a document whose file or heading does not exist, as written. */
function deadLinks(file: string, text: string): string[] {
  const prose = withoutCode(text);
  return [
    ...prose.matchAll(/\]\(\s*<?([^\s<>()]+)>?[^()]*\)/g),
    ...prose.matchAll(/^\s*\[[^\]]+\]:\s*<?([^\s<>]+)/gm),
    ...prose.matchAll(/\s(?:href|src)="([^"]*)"/g),
  ]
    .map(([, link = '']) => link)
    .filter((link) => !/^[a-z][\w+.-]*:/i.test(link) && !hasTarget(file, text, link));
}

function hasTarget(file: string, text: string, link: string): boolean {
  const [path = '', heading] = link.split('#');
  if (path.startsWith('/')) return false;
  const target = path === '' ? file : join(dirname(file), decodeURIComponent(path));
  if (relative('', target).startsWith('..') || !existsSync(join(ROOT, target))) return false;
  if (heading === undefined) return true;
  return headingsOf(path === '' ? text : readFileSync(join(ROOT, target), 'utf8')).includes(heading);
}

/** Returns the anchors that GitHub generates for the headings. */
function headingsOf(text: string): string[] {
  const seen = new Map<string, number>();
  return [...withoutFences(text).matchAll(/^#{1,6}\s+(.+?)\s*#*$/gm)].map(([, heading = '']) => {
    const name = heading
      .toLowerCase()
      .replaceAll(/[^\p{Letter}\p{Number}\s_-]/gu, '')
      .replaceAll(' ', '-');
    const before = seen.get(name) ?? 0;
    seen.set(name, before + 1);
    return before === 0 ? name : `${name}-${before}`;
  });
}

/** Returns the code spans that look like a project path but match no file. */
function missingFiles(text: string): string[] {
  return [...withoutFences(text).matchAll(/`([\w.-]+(?:\/[\w.-]+)*\/?)`/g)]
    .map(([, path = '']) => path)
    .filter((path) => /^(?:audit|bench|deploy|docs|public|scripts|src|test|views)\//.test(path))
    .filter((path) => !existsSync(join(ROOT, path)));
}

function withoutFences(text: string): string {
  return text.replaceAll(/^([ \t]*)(`{3,}|~{3,})[^]*?^\1\2[ \t]*$/gm, '');
}

function withoutCode(text: string): string {
  return withoutFences(text).replaceAll(/(`+)(?!`)(?:(?!\n\n)[^])*?[^`]\1(?!`)/g, '');
}
