import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ROOT } from '../support/constants.ts';

const OXLINT = fileURLToPath(new URL('../../node_modules/oxlint/bin/oxlint', import.meta.url));

/** A file with one line of code. */
type Source = readonly [path: string, line: string];

const importsOf = ([file, modules]: readonly [string, readonly string[]]): Source[] =>
  modules.map((from) => [file, `import { thing } from '${from}'; thing();`]);

/** The modules that each file must not import. */
const REFUSED_MODULES: Readonly<Record<string, readonly string[]>> = {
  'src/config/a.ts': ['../redis/client.ts', '../promises.ts'],
  'src/observability/a.ts': ['../session/record.ts', '../config/load.ts'],
  'src/http/a.ts': ['../session/record.ts'],
  'src/redis/a.ts': ['../session/record.ts'],
  'src/upstream/a.ts': ['../oauth/client.ts'],
  'src/session/a.ts': ['../oauth/refresh/token-provider.ts', '../config/load.ts'],
  'src/oauth/a.ts': ['../gateway/handler.ts', '../config/load.ts'],
  'src/oauth/refresh/a.ts': ['../../gateway/handler.ts'],
  'src/gateway/a.ts': [
    '../workspaces/routes.ts',
    '../app.ts',
    '../redis/client.ts',
    '../local-service/pagination.ts',
    '../a-folder-yet-to-be-made/a.ts',
  ],
  'src/workspaces/a.ts': ['../gateway/handler.ts'],
  'src/workspaces/export/a.ts': ['../../gateway/handler.ts', '../../config/load.ts'],
  'src/console/a.ts': [
    '../gateway/handler.ts',
    '../oauth/require-session.ts',
    '../session/store.ts',
    '../browser/page.ts',
  ],
  'src/browser/a.ts': ['../errors.ts', 'node:fs', 'zod'],
  'src/browser/list/a.ts': ['../../errors.ts', 'node:fs'],
  'src/browser/console/a.ts': ['../../errors.ts', '../../console/routes.ts', 'node:fs'],
  'src/local-service/a.ts': ['../oauth/client.ts', './compat.ts'],
  'src/local-service/local-service.ts': ['../oauth/client.ts'],
  'src/local-service/faults/a.ts': ['../../oauth/client.ts'],
  'src/local-service/seed/a.ts': ['../oauth-store.ts'],
  'src/app.ts': ['./server.ts', './local-service/local-service.ts', './browser/page.ts'],
  'src/services.ts': ['./app.ts', './browser/page.ts'],
  'src/server.ts': ['./main.ts', './browser/page.ts'],
  'src/main.ts': ['./demo.ts', './local-service/local-service.ts'],
  'src/demo.ts': ['./main.ts', './browser/page.ts'],
  'src/cli/a.ts': ['../local-service/local-service.ts', '../server.ts', '../browser/page.ts'],
  'src/cli/doctor/a.ts': ['../../session/store.ts', '../../browser/page.ts'],
  'src/cli/compose/a.ts': ['../../local-service/oauth-store.ts'],
  'test/unit/a.ts': ['fast-check'],
};

const REFUSED_IMPORTS: readonly Source[] = [
  ...Object.entries(REFUSED_MODULES).flatMap(importsOf),
  ['src/oauth/a.ts', `export * from '../workspaces/routes.ts';`],
  ['src/gateway/a.ts', `export const routes = await import('../workspaces/routes.ts');`],
];

const REFUSED_PROPERTIES: readonly Source[] = [
  ['src/http/a.ts', `export const port = process.env['PORT'];`],
  ['src/oauth/a.ts', `export const { env } = process;`],
  ['src/server.ts', `process.once('SIGTERM', () => {});`],
];

/** The modules that each file may import. */
const ALLOWED_MODULES: Readonly<Record<string, readonly string[]>> = {
  'src/config/a.ts': ['../errors.ts'],
  'src/session/a.ts': ['../redis/client.ts'],
  'src/oauth/a.ts': ['../session/express-session.ts', './refresh/token-provider.ts'],
  'src/oauth/refresh/a.ts': ['../client.ts'],
  'src/gateway/a.ts': ['../oauth/refresh/token-provider.ts'],
  'src/workspaces/a.ts': ['../upstream/connection-pool.ts'],
  'src/workspaces/export/a.ts': ['../api-client.ts'],
  'src/browser/a.ts': ['./elements.ts'],
  'src/browser/list/a.ts': ['../elements.ts'],
  'src/browser/console/a.ts': ['../elements.ts', '../../console/problem-advice.ts'],
  'src/local-service/a.ts': ['../redis/client.ts'],
  'src/local-service/local-service.ts': ['./faults/inject-faults.ts'],
  'src/local-service/faults/a.ts': ['../../redis/client.ts'],
  'src/app.ts': ['./gateway/handler.ts'],
  'src/server.ts': ['./app.ts'],
  'src/demo.ts': ['./local-service/local-service.ts'],
  'src/cli/a.ts': ['../config/load.ts'],
  'src/cli/compose/a.ts': ['../../config/schema.ts'],
  'test/support/properties.ts': ['fast-check'],
  'test/support/a.ts': ['../../src/local-service/local-service.ts'],
};

const ALLOWED: readonly Source[] = [
  ...Object.entries(ALLOWED_MODULES).flatMap(importsOf),
  ['src/http/a.ts', `import type { Logger } from '../observability/logger.ts'; export type A = Logger;`],
  ['src/session/a.ts', `import type { Config } from '../config/load.ts'; export type A = Config;`],
  ['src/main.ts', `process.once('SIGTERM', () => {});`],
];

const SOURCES = [...REFUSED_IMPORTS, ...REFUSED_PROPERTIES, ...ALLOWED];
const IMPORTS = 'eslint(no-restricted-imports)';
const PROPERTIES = 'eslint(no-restricted-properties)';

let folder: string;
let reports: readonly { readonly filename: string; readonly code: string }[];

/** Lints all sources in a single run, each in its own project. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cloakroom-lint-rules-'));
  const write = async ([path, line]: Source, index: number) => {
    const project = join(folder, String(index));
    await mkdir(dirname(join(project, path)), { recursive: true });
    await copyFile(join(ROOT, '.oxlintrc.json'), join(project, '.oxlintrc.json'));
    await writeFile(join(project, path), `${line}\n`);
  };
  await Promise.all(SOURCES.map(write));
  const output = await new Promise<string>((resolve) => {
    execFile(process.execPath, [OXLINT, '--format=json', '.'], { cwd: folder }, (_, stdout) =>
      resolve(stdout),
    );
  });
  ({ diagnostics: reports } = JSON.parse(output) as { diagnostics: typeof reports });
});
afterAll(async () => rm(folder, { recursive: true }));

/** Returns the import and property rules that a source violates. */
function brokenRules(source: Source): string[] {
  const file = join(String(SOURCES.indexOf(source)), source[0]);
  const codes = reports.filter(({ filename }) => filename === file).map(({ code }) => code);
  return codes.filter((code) => [IMPORTS, PROPERTIES].includes(code));
}

const toCases = (sources: readonly Source[]) =>
  sources.map((source) => ({ path: source[0], line: source[1], source }));

test.each(toCases(REFUSED_IMPORTS))('$path must not import: $line', ({ source }) => {
  expect(brokenRules(source)).toContain(IMPORTS);
});

test.each(toCases(REFUSED_PROPERTIES))('$path must not use: $line', ({ source }) => {
  expect(brokenRules(source)).toContain(PROPERTIES);
});

test.each(toCases(ALLOWED))('$path may contain: $line', ({ source }) => {
  expect(brokenRules(source)).toEqual([]);
});
