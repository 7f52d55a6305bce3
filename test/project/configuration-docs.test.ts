import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { withTable } from '../../scripts/configuration/table.mjs';
import { loadConfig, variableNames } from '../../src/config/load.ts';
import * as schema from '../../src/config/schema.ts';
import { ROOT } from '../support/constants.ts';
import { minimalEnv } from '../unit/config/minimal-env.ts';

const lines = readFileSync(new URL('../../.env.example', import.meta.url), 'utf8').split('\n');

/** The variables in the example, each with its value and whether it is commented out. */
const examples = lines.flatMap((line) => {
  const [, comment, name = '', value = ''] = /^(# )?([A-Z][A-Z_]*)=(.*)$/.exec(line) ?? [];
  return name === '' || name === 'NODE_ENV' ? [] : [{ name, value, commented: comment !== undefined }];
});

const ofCloakroom = examples.filter(({ name }) => !name.startsWith('LOCAL_SERVICE_'));

const LOCAL_SERVICE_NAMES = [
  ['HOST', 'PORT', 'CLIENT_ID', 'CLIENT_SECRET', 'REDIRECT_URIS', 'SCOPES', 'ACCESS_TOKEN_SECONDS'],
  ['CODE_SECONDS', 'WORKSPACES', 'ROTATE_REFRESH', 'COMPAT', 'FAULTS'],
].flatMap((names) => names.map((name) => `LOCAL_SERVICE_${name}`));

test('.env.example lists exactly the variables of the configuration, in the same order', () => {
  expect(ofCloakroom.map(({ name }) => name)).toEqual(variableNames);
});

test('.env.example lists exactly the variables of the local service', () => {
  const names = examples.map(({ name }) => name).filter((name) => name.startsWith('LOCAL_SERVICE_'));
  expect(names).toEqual(LOCAL_SERVICE_NAMES);
});

test('a variable commented out in .env.example shows its default value', () => {
  const shown = toEnv(ofCloakroom.filter(({ commented }) => commented));
  // With PUBLIC_URL set to its default, the configuration differs only in `publicUrlIsDefault`.
  expect({ ...loadConfig({ ...minimalEnv, ...shown }), publicUrlIsDefault: true }).toEqual(
    loadConfig(minimalEnv),
  );
});

test('a copy of .env.example with a session key is a valid configuration', () => {
  const given = toEnv(ofCloakroom.filter(({ commented }) => !commented));
  const config = loadConfig({ ...given, SESSION_KEYS: minimalEnv.SESSION_KEYS });
  expect(config).toMatchObject({ serviceOrigin: 'http://localhost:4000', clientId: 'demo-app' });
});

test('.env.example contains no session key', () => {
  expect(examples).toContainEqual({ name: 'SESSION_KEYS', value: '', commented: false });
});

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

test('the table reflects changes to defaults, ranges and file variables', () => {
  const changed = {
    variables: { ...schema.variables, PORT: schema.integer(1, 9).default(8) },
    fileVariables: ['PORT'],
  };
  const table = withTable(document, changed);
  expect(table).toMatch(/^\| `PORT` +\| `8` +\| 1–9 +\| SIGHUP +\| Port to listen on/m);
  expect(table).toMatch(/^\| `CLIENT_SECRET` .*\| restart +\|/m);
});

function toEnv(variables: typeof examples): Record<string, string> {
  return Object.fromEntries(variables.map(({ name, value }) => [name, value]));
}
