import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The document that holds the table. */
export const DOCUMENT = fileURLToPath(new URL('../../../docs/local-service.md', import.meta.url));

/** Every row and every rule of the service’s interface, in its order. A test’s title begins with the one it is of. */
export const ROWS = [
  '1 user-scoped tokens',

  '2 list value',
  '2 list next',
  '2 code exchange, access_token',
  '2 code exchange, expires_in',
  '2 code exchange, refresh_token',
  '2 refresh, access_token',
  '2 refresh, expires_in',
  '2 refresh, refresh_token',
  '2 app registration',
  '2 scope form',
  '2 scope separator',
  '2 scope case',

  '3 expiry',

  '4 base_url',

  '4.1 method and path',
  '4.1 browser redirect',
  '4.1 client_id',
  '4.1 redirect_uri',
  '4.1 scope',
  '4.1 state',
  '4.1 response_type',
  '4.1 authentication page',
  '4.1 redirect after consent',
  '4.1 callback, code',
  '4.1 callback, state',

  '4.2 method and path',
  '4.2 content type',
  '4.2 client_id',
  '4.2 client_secret',
  '4.2 redirect_uri',
  '4.2 code',
  '4.2 grant_type',
  '4.2 response',

  '4.3 method and path',
  '4.3 content type',
  '4.3 client_id',
  '4.3 client_secret',
  '4.3 refresh_token',
  '4.3 grant_type',
  '4.3 response',
  '4.3 reuse',

  '4.4 method and path',
  '4.4 header',
  '4.4 limit',
  '4.4 next',
  '4.4 response',

  '4.5 rule 1',
  '4.5 rule 2',
  '4.5 rule 3',
  '4.5 rule 4',
  '4.5 rule 5',

  '5 rule 1, code grant',
  '5 rule 1, PKCE',
  '5 rule 2, step 1',
  '5 rule 2, step 2',
  '5 rule 2, step 3',
  '5 rule 3',
  '5 rule 4',
  '5 rule 5',
  '5 rule 6',
  '5 rule 7',

  '7 error shape',
  '7 invalid_request, missing parameter',
  '7 invalid_request, unsupported value',
  '7 invalid_request, malformed',
  '7 invalid_client, unknown client',
  '7 invalid_client, wrong secret',
  '7 invalid_client, no authentication',
  '7 invalid_client, unsupported method',
  '7 invalid_grant, code invalid',
  '7 invalid_grant, code already used',
  '7 invalid_grant, code expired',
  '7 invalid_grant, code revoked',
  '7 invalid_grant, redirect_uri',
  '7 invalid_grant, code of another client',
  '7 invalid_grant, refresh token invalid',
  '7 invalid_grant, refresh token already used',
  '7 invalid_grant, refresh token expired',
  '7 invalid_grant, refresh token revoked',
  '7 invalid_grant, refresh token of another client',
  '7 unsupported_grant_type',

  '8 default access token lifetime',
  '8 default page size',
  '8 page size parameter',
  '8 refresh token reuse',

  '9 version',
];

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
