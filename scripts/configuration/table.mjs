import { toTable } from '../markdown-table.mjs';

/**
 * @typedef {object} Parser A zod schema.
 * @property {(value: unknown) => Parsed} safeParse
 *
 * @typedef {{ data?: unknown, error?: { issues: readonly { message: string }[] } }} Parsed
 *
 * @typedef {object} Schema The exports of src/config/schema.ts.
 * @property {Readonly<Record<string, Parser>>} variables
 * @property {readonly string[]} fileVariables
 */

const TABLE = /(?<=<!-- variables -->\n).*(?=<!-- \/variables -->)/s;

/** A value that no variable accepts. */
const INVALID = '\u0000,';

/** Descriptions of valid values that are shorter than the messages for invalid values. */
const VALUES = new Map([
  ['PUBLIC_URL', 'an `http` or `https` origin'],
  ['SERVICE_URL', 'an `http` or `https` origin'],
  ['CLIENT_ID', 'one line of text'],
  ['CLIENT_SECRET', 'one line of text'],
  ['SCOPES', 'scopes, separated by spaces'],
  ['REDIS_URL', '[a Redis URL](#redis-urls)'],
  ['SESSION_KEYS', '1 to 8 keys, separated by commas'],
  ['API_PATHS', 'paths under `/api/`, separated by commas'],
  ['WORKSPACE_ITEMS', 'kinds of item, separated by commas'],
]);

/**
 * Returns the document with an updated table of the variables in the schema. Keeps the text of the "Meaning" column.
 * @param {string} document
 * @param {Schema} schema
 */
export function withTable(document, { variables, fileVariables }) {
  const [table] = TABLE.exec(document) ?? [];
  if (table === undefined) throw new Error('The document has no markers for the table.');
  const meanings = new Map(
    [...table.matchAll(/^\| `(\w+)` .*\| (.*?) +\|$/gm)].map(([, name = '', meaning = '']) => [
      name,
      meaning,
    ]),
  );
  const rows = Object.entries(variables).map(([name, parser]) => [
    `\`${name}\``,
    name === 'PUBLIC_URL' ? '`http://localhost:3000`' : defaultOf(parser),
    VALUES.get(name) ?? valuesOf(parser),
    fileVariables.includes(name) ? 'SIGHUP' : 'restart',
    meanings.get(name) ?? '',
  ]);
  const head = ['Variable', 'Default', 'Values', 'Reload', 'Meaning'];
  return document.replace(TABLE, () => `\n${toTable([head, ...rows])}\n`);
}

/** @param {Parser} parser */
function defaultOf(parser) {
  const { data, error } = parser.safeParse(undefined);
  if (error !== undefined) return 'required';
  return `\`${String(data)}\``;
}

/**
 * Returns a description of the valid values, taken from the message for an invalid value.
 * @param {Parser} parser
 */
function valuesOf(parser) {
  const message = parser.safeParse(INVALID).error?.issues[0]?.message ?? '';
  return message
    .replace(/^must (?:be )?/, '')
    .replace(/^a whole number from (\d+) to (\d+), in decimal digits$/, '$1–$2')
    .replace(/^one of: /, '');
}
