import { stringify } from 'csv-stringify/sync';
import { AppError } from '../../errors.ts';
import type { ExportFormat } from './format.ts';
import { isNumberText, isObjectText, isStringText, membersOf, readString } from './json.ts';
import { toHarmlessText } from './spreadsheet-cells.ts';

const FIRST_COLUMNS = ['id', 'name', 'title'];
const COLUMNS_OF_NOTHING = ['id', 'name'];
/** Spreadsheets have no more. */
const MOST_COLUMNS = 16_384;
/** Made in one go: others are to be answered in between. */
const CELLS_AT_A_TIME = 20_000;

/**
 * RFC 4180 in UTF-8 without a byte order mark, which programs would take for a part of the first name. A column for each
 * field of the items that are written first; what has no column is left out (docs/decisions/0024).
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
          yield toText([columns.map(toHarmlessText)]);
        }
        const names = columns;
        const rows = Math.max(1, Math.floor(CELLS_AT_A_TIME / names.length));
        for (let at = 0; at < items.length; at += rows)
          yield toText(items.slice(at, at + rows).map((item) => toRow(item, names)));
      },
      end: () => (columns === undefined ? toText([[...COLUMNS_OF_NOTHING]]) : ''),
    };
  },
};

function toText(records: string[][]): string {
  return stringify(records, {
    record_delimiter: 'windows',
    // By itself it quotes only the whole record delimiter. Many readers end a row at a lone CR or LF as well.
    quoted_match: /[\r\n]/,
    // A record of one empty cell would be an empty line, which readers pass over.
    quoted_empty: records[0]?.length === 1,
  });
}

/** The fields of an item, each value as JSON text. */
function toFields(item: string): ReadonlyMap<string, string> {
  if (isObjectText(item)) return membersOf(item);
  throw noTable('an item has no fields');
}

function toColumns(items: readonly string[]): readonly string[] {
  const names = new Set<string>();
  for (const item of items) for (const name of toFields(item).keys()) names.add(name);
  if (names.size > MOST_COLUMNS) throw noTable('the items have too many fields');
  if (names.size === 0) return COLUMNS_OF_NOTHING;
  return [...new Set([...FIRST_COLUMNS.filter((name) => names.has(name)), ...names])];
}

function toRow(item: string, columns: readonly string[]): string[] {
  const fields = toFields(item);
  return columns.map((name) => toCell(fields.get(name)));
}

/** A number is no formula whatever it begins with, and stays one to reckon with. */
function toCell(value: string | undefined): string {
  if (value === undefined || isNumberText(value)) return value ?? '';
  return toHarmlessText(isStringText(value) ? readString(value) : value);
}

/** `why` is for the log. */
function noTable(why: string): AppError {
  return new AppError('list_not_tabular', { cause: new Error(why) });
}
