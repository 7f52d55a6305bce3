import { stringify } from 'csv-stringify/sync';
import { AppError } from '../../errors.ts';
import { isNumber, isObject, isString, membersOf, readString } from './json.ts';
import type { ExportFormat } from './stream.ts';

const FIRST_COLUMNS = ['id', 'name', 'title'];
const COLUMNS_OF_EMPTY_LIST = ['id', 'name'];
/** Maximum number of columns of a spreadsheet. */
const MAX_COLUMNS = 16_384;
/** Cells to write before the event loop serves other requests. */
const CELLS_AT_A_TIME = 20_000;

/**
 * CSV (RFC 4180) in UTF-8. It has no byte order mark, which programs would read as part of the first name. The fields of the
 * first page are the columns, and later fields are left out (docs/decisions/0012).
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
    // csv-stringify quotes CRLF only. Many readers end a row at a lone CR or LF as well.
    quoted_match: /[\r\n]/,
    // A record of one empty cell would be an empty line, which readers skip.
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

/** The fields of an item, each value as JSON text. */
function toFields(item: string): ReadonlyMap<string, string> {
  if (isObject(item)) return membersOf(item);
  throw notTabular('an item has no fields');
}

/** Returns the text of a cell. A number stays as it is, because its minus sign begins no formula. */
function toCell(value: string | undefined): string {
  if (value === undefined || isNumber(value)) return value ?? '';
  return neutraliseFormulas(isString(value) ? readString(value) : value);
}

/** Returns the error of a list that does not fit into a table. Only the log shows `reason`. */
function notTabular(reason: string): AppError {
  return new AppError('list_not_tabular', { cause: new Error(reason) });
}

/** White space and invisible characters, which a spreadsheet ignores at the start of a cell. */
const LEADING_SPACE = /^[\s\p{C}\p{Z}]*/u;
/** Where a cell or row starts for a reader with another separator, and what it ignores there. Quotes belong to that cell. */
const OTHER_STARTS = /[;\t\r\n]["\s\p{C}\p{Z}]*/gu;

/**
 * Puts an apostrophe before every place where a spreadsheet would start a formula (CWE-1236): at the start of the cell and
 * behind other separators. Excel splits at semicolons where Windows has a decimal comma, and ignores our quotes then.
 */
export function neutraliseFormulas(text: string): string {
  const leading = LEADING_SPACE.exec(text)?.[0].length ?? 0;
  const isFormula = /^[\t\r\n]/.test(text) || startsFormula(text, leading);
  const inside = text.replaceAll(OTHER_STARTS, (start, at: number) =>
    startsFormula(text, at + start.length) ? `${start}'` : start,
  );
  return isFormula ? `'${inside}` : inside;
}

/** Whether a character that starts a formula stands there, or a compatible one such as its full-width form. */
function startsFormula(text: string, at: number): boolean {
  return /^[=+\-@]$/.test(text.charAt(at).normalize('NFKC'));
}
