import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withTable } from './configuration/table.mjs';
import { ensureBuild } from './ensure-build.mjs';
import { ensurePackages } from './ensure-packages.mjs';
import { launch, root } from './launch.mjs';

// Generates the table of variables in docs/configuration.md from the schema. Keeps the hand-written "Meaning" column.

/** @typedef {import('./configuration/table.mjs').Schema} Schema */

await launch(async () => {
  await ensurePackages();
  await ensureBuild();
  const schema = /** @type {Schema} */ (await import(join(root, 'dist/config/schema.js')));
  const file = join(root, 'docs/configuration.md');
  writeFileSync(file, withTable(readFileSync(file, 'utf8'), schema));
});
