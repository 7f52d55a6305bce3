import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

const OXLINT = fileURLToPath(new URL('../../node_modules/oxlint/bin/oxlint', import.meta.url));
const CONFIG = fileURLToPath(new URL('../../.oxlintrc.json', import.meta.url));

const value = (from: string) => `import { thing } from '${from}';\nthing();\n`;
const type = (from: string) => `import type { Thing } from '${from}';\nexport type Mine = Thing;\n`;

const IMPORTS = 'eslint(no-restricted-imports)';
const PROPERTIES = 'eslint(no-restricted-properties)';

/** Where a line is written, the line, and the rule that refuses it. */
const CLOSED: [string, string, string][] = [
  ['src/config/a.ts', value('../redis/client.ts'), IMPORTS],
  ['src/config/a.ts', value('../promises.ts'), IMPORTS],
  ['src/observability/a.ts', value('../session/record.ts'), IMPORTS],
  ['src/observability/a.ts', value('../config/load.ts'), IMPORTS],
  ['src/http/a.ts', value('../session/record.ts'), IMPORTS],
  ['src/redis/a.ts', value('../session/record.ts'), IMPORTS],
  ['src/upstream/a.ts', value('../oauth/client.ts'), IMPORTS],
  ['src/session/a.ts', value('../oauth/refresh/token-provider.ts'), IMPORTS],
  ['src/session/a.ts', value('../config/load.ts'), IMPORTS],
  ['src/oauth/a.ts', value('../gateway/handler.ts'), IMPORTS],
  ['src/oauth/a.ts', value('../config/load.ts'), IMPORTS],
  ['src/oauth/a.ts', `export * from '../workspaces/routes.ts';\n`, IMPORTS],
  ['src/oauth/refresh/a.ts', value('../../gateway/handler.ts'), IMPORTS],
  ['src/gateway/a.ts', value('../workspaces/routes.ts'), IMPORTS],
  ['src/gateway/a.ts', value('../app.ts'), IMPORTS],
  ['src/gateway/a.ts', value('../redis/client.ts'), IMPORTS],
  ['src/gateway/a.ts', value('../local-service/pagination.ts'), IMPORTS],
  ['src/gateway/a.ts', `export const routes = await import('../workspaces/routes.ts');\n`, IMPORTS],
  ['src/gateway/a.ts', value('../a-folder-yet-to-be-made/a.ts'), IMPORTS],
  ['src/workspaces/a.ts', value('../gateway/handler.ts'), IMPORTS],
  ['src/workspaces/export/a.ts', value('../../gateway/handler.ts'), IMPORTS],
  ['src/workspaces/export/a.ts', value('../../config/load.ts'), IMPORTS],
  ['src/console/a.ts', value('../gateway/handler.ts'), IMPORTS],
  ['src/console/a.ts', value('../oauth/require-session.ts'), IMPORTS],
  ['src/console/a.ts', value('../session/store.ts'), IMPORTS],
  ['src/local-service/a.ts', value('../oauth/client.ts'), IMPORTS],
  ['src/local-service/a.ts', value('./compat.ts'), IMPORTS],
  ['src/local-service/local-service.ts', value('../oauth/client.ts'), IMPORTS],
  ['src/local-service/faults/a.ts', value('../../oauth/client.ts'), IMPORTS],
  ['src/local-service/seed/a.ts', value('../oauth-store.ts'), IMPORTS],
  ['src/app.ts', value('./server.ts'), IMPORTS],
  ['src/app.ts', value('./local-service/local-service.ts'), IMPORTS],
  ['src/services.ts', value('./app.ts'), IMPORTS],
  ['src/server.ts', value('./main.ts'), IMPORTS],
  ['src/main.ts', value('./demo.ts'), IMPORTS],
  ['src/main.ts', value('./local-service/local-service.ts'), IMPORTS],
  ['src/demo.ts', value('./main.ts'), IMPORTS],
  ['src/cli/a.ts', value('../local-service/local-service.ts'), IMPORTS],
  ['src/cli/a.ts', value('../server.ts'), IMPORTS],
  ['src/cli/doctor/a.ts', value('../../session/store.ts'), IMPORTS],
  ['src/cli/compose/a.ts', value('../../local-service/oauth-store.ts'), IMPORTS],
  ['test/unit/a.ts', `import fc from 'fast-check';\nfc.nat();\n`, IMPORTS],
  ['src/http/a.ts', `export const port = process.env['PORT'];\n`, PROPERTIES],
  ['src/oauth/a.ts', `export const { env } = process;\n`, PROPERTIES],
  ['src/server.ts', `process.once('SIGTERM', () => {});\n`, PROPERTIES],
];

const OPEN: [string, string][] = [
  ['src/config/a.ts', value('../errors.ts')],
  ['src/http/a.ts', type('../observability/logger.ts')],
  ['src/session/a.ts', value('../redis/client.ts')],
  ['src/session/a.ts', type('../config/load.ts')],
  ['src/oauth/a.ts', value('../session/express-session.ts')],
  ['src/oauth/a.ts', value('./refresh/token-provider.ts')],
  ['src/oauth/refresh/a.ts', value('../client.ts')],
  ['src/gateway/a.ts', value('../oauth/refresh/token-provider.ts')],
  ['src/workspaces/a.ts', value('../upstream/connection-pool.ts')],
  ['src/workspaces/export/a.ts', value('../api-client.ts')],
  ['src/local-service/a.ts', value('../redis/client.ts')],
  ['src/local-service/local-service.ts', value('./faults/inject-faults.ts')],
  ['src/local-service/faults/a.ts', value('../../redis/client.ts')],
  ['src/app.ts', value('./gateway/handler.ts')],
  ['src/server.ts', value('./app.ts')],
  ['src/main.ts', `process.once('SIGTERM', () => {});\n`],
  ['src/demo.ts', value('./local-service/local-service.ts')],
  ['src/cli/a.ts', value('../config/load.ts')],
  ['src/cli/compose/a.ts', value('../../config/schema.ts')],
  ['test/support/properties.ts', `import fc from 'fast-check';\nfc.nat();\n`],
  ['test/support/a.ts', value('../../src/local-service/local-service.ts')],
];

interface Report {
  readonly filename: string;
  readonly code: string;
}

let folder: string;
let reports: readonly Report[];

/** Lints all lines at once, each in a folder of its own. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cloakroom-lint-rules-'));
  const lines = [...CLOSED, ...OPEN];
  await Promise.all(
    lines.map(([path, line], index) => writeProject(join(folder, String(index)), path, line)),
  );
  reports = await lint();
});

afterAll(async () => {
  await rm(folder, { recursive: true });
});

async function writeProject(copy: string, path: string, line: string): Promise<void> {
  await mkdir(dirname(join(copy, path)), { recursive: true });
  await copyFile(CONFIG, join(copy, '.oxlintrc.json'));
  await writeFile(join(copy, path), line);
}

async function lint(): Promise<readonly Report[]> {
  const output = await new Promise<string>((resolve) => {
    execFile(process.execPath, [OXLINT, '--format=json', '.'], { cwd: folder }, (_, stdout) =>
      resolve(stdout),
    );
  });
  return (JSON.parse(output) as { diagnostics: Report[] }).diagnostics;
}

/** The rules that spoke of a file in one of the copies. */
function rulesAgainst(copy: number, path: string): string[] {
  const file = join(String(copy), path);
  return reports.filter(({ filename }) => filename === file).map(({ code }) => code);
}

test.each(CLOSED.map(([path, line, rule], copy) => ({ path, line: line.split('\n')[0], rule, copy })))(
  '$path may not say: $line',
  ({ path, rule, copy }) => {
    expect(rulesAgainst(copy, path)).toContain(rule);
  },
);

test.each(
  OPEN.map(([path, line], index) => ({ path, line: line.split('\n')[0], copy: CLOSED.length + index })),
)('$path may say: $line', ({ path, copy }) => {
  expect(rulesAgainst(copy, path)).not.toContain(IMPORTS);
  expect(rulesAgainst(copy, path)).not.toContain(PROPERTIES);
});
