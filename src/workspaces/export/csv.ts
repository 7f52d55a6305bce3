import { stringify } from 'csv-stringify/sync';
import { AppError } from '../../errors.ts';
import { isNumber, isObject, isString, membersOf, readString } from './json.ts';
import type { ExportFormat } from './stream.ts';

const FIRST_COLUMNS = ['id', 'name', 'title'];
const COLUMNS_OF_EMPTY_LIST = ['id', 'name'];
/** Maximum number of columns in a spreadsheet. */
const MAX_COLUMNS = 16_384;
/** Number of cells to format before yielding to the event loop. */
const CELLS_AT_A_TIME = 20_000;

/**
 * CSV (RFC 4180) in UTF-8 without a byte order mark, which programs would read as part of the first column name. The columns
 * are the fields that occur on the first page; other fields are omitted (docs/decisions/0012).
 */
export const CSV: ExportFormat = {
  extension: 'csv',
  contentType: 'text/csv; charset=utf-8; header=present',
  createWriter() {
    let columns: readonly string[] | undefined;
    return {
      *write(items) {
        if (items.length === 0) return;
        if (columns === undefined) {
          columns = toColumns(items);
          yield toText([columns.map(neutraliseFormulas)]);
        }
        const names = columns;
        const rows = Math.max(1, Math.floor(CELLS_AT_A_TIME / names.length));
        for (let at = 0; at < items.length; at += rows)
          yield toText(items.slice(at, at + rows).map((item) => toRow(item, names)));
      },
      end: () => (columns === undefined ? toText([[...COLUMNS_OF_EMPTY_LIST]]) : ''),
    };
  },
};

function toText(records: string[][]): string {
  return stringify(records, {
    record_delimiter: 'windows',
    // csv-stringify quotes only CRLF, but many readers end a row at a lone CR or LF as well.
    quoted_match: /[\r\n]/,
    // Quote an empty cell if it is the only cell in its record. Otherwise, the record would be an empty line, which readers skip.
    quoted_empty: records[0]?.length === 1,
  });
}

function toColumns(items: readonly string[]): readonly string[] {
  const names = new Set<string>();
  for (const item of items) for (const name of toFields(item).keys()) names.add(name);
  if (names.size > MAX_COLUMNS) throw notTabular('the items have too many fields');
  if (names.size === 0) return COLUMNS_OF_EMPTY_LIST;
  return [...new Set([...FIRST_COLUMNS.filter((name) => names.has(name)), ...names])];
}

function toRow(item: string, columns: readonly string[]): string[] {
  const fields = toFields(item);
  return columns.map((name) => toCell(fields.get(name)));
}

/** Returns the fields of an item, each value as JSON text. */
function toFields(item: string): ReadonlyMap<string, string> {
  if (isObject(item)) return membersOf(item);
  throw notTabular('an item has no fields');
}

/** Returns the text for a cell. Numbers are left unchanged, because the minus sign of a number can't start a formula. */
function toCell(value: string | undefined): string {
  if (value === undefined || isNumber(value)) return value ?? '';
  return neutraliseFormulas(isString(value) ? readString(value) : value);
}

/** Returns the error for a list that can't be shown as a table. `reason` appears only in the log. */
function notTabular(reason: string): AppError {
  return new AppError('list_not_tabular', { cause: new Error(reason) });
}

/** White space and invisible characters that a spreadsheet ignores at the start of a cell. */
const LEADING_SPACE = /^[\s\p{C}\p{Z}]*/u;
/**
 * Matches the start of a cell or row for a reader that expects a different separator, including the characters that the reader
 * ignores there. Such a reader treats quotes as part of the cell.
 */
const OTHER_STARTS = /[;\t\r\n]["\s\p{C}\p{Z}]*/gu;

/**
 * Inserts an apostrophe wherever a spreadsheet would see a formula (CWE-1236): at the start of the cell, and after separators
 * other than the comma. If Windows uses a decimal comma, Excel splits cells at semicolons and ignores the quotes.
 */
export function neutraliseFormulas(text: string): string {
  const leading = LEADING_SPACE.exec(text)?.[0].length ?? 0;
  const isFormula = /^[\t\r\n]/.test(text) || startsFormula(text, leading);
  const inside = text.replaceAll(OTHER_STARTS, (start, at: number) =>
    startsFormula(text, at + start.length) ? `${start}'` : start,
  );
  return isFormula ? `'${inside}` : inside;
}

/** Returns whether the character at a position starts a formula. Recognises variants such as full-width characters. */
function startsFormula(text: string, at: number): boolean {
  return /^[=+\-@]$/.test(text.charAt(at).normalize('NFKC'));
}
