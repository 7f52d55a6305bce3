import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { toTable } from '../../../scripts/markdown-table.mjs';

/** The document that contains the table. */
export const DOCUMENT = fileURLToPath(new URL('../../../docs/local-service.md', import.meta.url));

/** The rows and rules of the service interface, in order. Each section has one entry, in which `|` separates the rows. */
const SECTIONS = `
  1: user-scoped tokens
  2: list value | list next | code exchange, access_token | code exchange, expires_in |
    code exchange, refresh_token | refresh, access_token | refresh, expires_in | refresh, refresh_token |
    app registration | scope form | scope separator | scope case
  3: expiry
  4: base_url
  4.1: method and path | browser redirect | client_id | redirect_uri | scope | state | response_type |
    authentication page | redirect after consent | callback, code | callback, state
  4.2: method and path | content type | client_id | client_secret | redirect_uri | code | grant_type |
    response
  4.3: method and path | content type | client_id | client_secret | refresh_token | grant_type | response |
    reuse
  4.4: method and path | header | limit | next | response
  4.5: rule 1 | rule 2 | rule 3 | rule 4 | rule 5
  5: rule 1, code grant | rule 1, PKCE | rule 2, step 1 | rule 2, step 2 | rule 2, step 3 | rule 3 |
    rule 4 | rule 5 | rule 6 | rule 7
  7: error shape | invalid_request, missing parameter | invalid_request, unsupported value |
    invalid_request, malformed | invalid_client, unknown client | invalid_client, wrong secret |
    invalid_client, no authentication | invalid_client, unsupported method | invalid_grant, code invalid |
    invalid_grant, code already used | invalid_grant, code expired | invalid_grant, code revoked |
    invalid_grant, redirect_uri | invalid_grant, code of another client |
    invalid_grant, refresh token invalid | invalid_grant, refresh token already used |
    invalid_grant, refresh token expired | invalid_grant, refresh token revoked |
    invalid_grant, refresh token of another client | unsupported_grant_type
  8: default access token lifetime | default page size | page size parameter | refresh token reuse
  9: version
`;

/** The name of each row: its section and its label. The title of a test begins with the name of its row. */
export const ROWS = SECTIONS.trim()
  .split(/\n {2}(?=\d)/)
  .flatMap((line) => {
    const [section = '', rows = ''] = line.split(/:\s/);
    return rows.split(/ \|\s+/).map((row) => `${section} ${row}`);
  });

const PLACE = /(?<=<!-- conformance -->\n).*(?=<!-- \/conformance -->)/s;

/** Returns the test files with their source. */
export function readFiles() {
  return readdirSync(new URL('.', import.meta.url))
    .filter((name) => name.endsWith('.test.ts') && name !== 'table.test.ts')
    .map((file) => ({ file, source: readFileSync(new URL(file, import.meta.url), 'utf8') }));
}

/** Finds the test for each row. A test title is the row name, a colon and the requirement, even in a `test.each` table. */
export function findTests() {
  return readFiles().flatMap(({ file, source }) =>
    [...source.matchAll(/^(?:test\(| +)'(\d[^:']*): ([^']+)'/gm)].map(([, row = '', requirement = '']) => ({
      row,
      requirement,
      file,
    })),
  );
}

/**
 * Returns the document with an up-to-date table of the test files and the rows that each of them covers.
 * @param {string} document
 */
export function withTable(document) {
  if (!PLACE.test(document)) throw new Error('The document has no place for the table.');
  const tests = findTests();
  const lines = [...new Set(tests.map(({ file }) => file))].map((file) => {
    const rows = ROWS.filter((row) => tests.some((test) => test.file === file && test.row === row));
    return [`[${file}](../test/local-service/conformance/${file})`, rows.join('; ')];
  });
  return document.replace(PLACE, () => `\n${toTable([['Test', 'Rows'], ...lines])}\n`);
}
