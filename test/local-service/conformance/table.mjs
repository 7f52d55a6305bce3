import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ROWS } from './rows.mjs';

/** The document that holds the table. */
export const DOCUMENT = fileURLToPath(new URL('../../../docs/local-service.md', import.meta.url));

const PLACE = /(?<=<!-- conformance -->\n).*(?=<!-- \/conformance -->)/s;

/** The files of tests, by name, with their source. */
function readFiles() {
  return readdirSync(new URL('.', import.meta.url))
    .filter((name) => name.endsWith('.test.ts') && name !== 'table.test.ts')
    .map((file) => ({ file, source: readFileSync(new URL(file, import.meta.url), 'utf8') }));
}

/** The test of each row, wherever it is: its title is the row's name, a colon, and what the row demands. */
export function findTests() {
  return readFiles().flatMap(({ file, source }) =>
    [...source.matchAll(/^test\('(.+?): (.+?)', /gm)].map(([, row = '', demand = '']) => ({
      row,
      demand,
      file,
    })),
  );
}

/** How many tests each file has, however they are written. */
export function countTests() {
  return readFiles().map(({ file, source }) => ({
    file,
    tests: source.match(/^\s*(?:test|it)[.(]/gm)?.length ?? 0,
  }));
}

/**
 * The document with the table as rows and tests have it, in the form that Prettier gives to tables.
 * @param {string} document
 */
export function withTable(document) {
  if (!PLACE.test(document)) throw new Error('The document has no place for the table.');
  const tests = new Map(findTests().map((test) => [test.row, test]));
  const lines = ROWS.map((row) => {
    const { demand, file } = tests.get(row) ?? { demand: 'not tested', file: '' };
    return [row, demand, `[${file}](../test/local-service/conformance/${file})`];
  });
  return document.replace(PLACE, () => `\n${toTable([['Row', 'What it demands', 'Test'], ...lines])}\n`);
}

/** @param {string[][]} lines the first is the head */
function toTable([head = [], ...lines]) {
  const widths = head.map((_, column) =>
    Math.max(...[head, ...lines].map((line) => line[column]?.length ?? 0)),
  );
  const rule = widths.map((width) => '-'.repeat(width));
  return [head, rule, ...lines]
    .map((line) => `| ${line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |\n`)
    .join('');
}
