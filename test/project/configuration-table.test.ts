import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { withTable } from '../../scripts/configuration/table.mjs';
import * as schema from '../../src/config/schema.ts';
import { ROOT } from '../support/constants.ts';

const document = readFileSync(join(ROOT, 'docs/configuration.md'), 'utf8');

test('the table of variables matches the output of `npm run configuration-table`', () => {
  expect(document).toBe(withTable(document, schema));
});

test('the table describes every variable and its values', () => {
  const rows = [
    ...document.matchAll(/^\| `([A-Z_]+)` +\| (.+?) +\| (.+?) +\| (restart|SIGHUP) +\| (.+?) +\|$/gm),
  ];
  expect(rows.map(([, name]) => name)).toEqual(Object.keys(schema.variables));
  for (const cells of rows) expect(cells).not.toContainEqual(expect.stringMatching(/^ *$/));
});

test('the table reflects a changed default, range and file variable', () => {
  const changed = {
    variables: { ...schema.variables, PORT: schema.integer(1, 9).default(8) },
    fileVariables: ['PORT'],
  };
  const table = withTable(document, changed);
  expect(table).toMatch(/^\| `PORT` +\| `8` +\| 1 to 9 +\| SIGHUP +\| Port to listen on/m);
  expect(table).toMatch(/^\| `CLIENT_SECRET` .*\| restart +\|/m);
});
