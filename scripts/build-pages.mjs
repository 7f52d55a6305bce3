import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));

/** One script for each kind of page. The landing page has none. */
const SCRIPTS = ['workspaces', 'error', 'console/console', 'console/guide'];
const STYLES = ['cloakroom', 'console/console', 'local-service'];

/** Builds the files that pages load: bundles scripts and styles, copies the rest of public, and compresses all but source maps. Usage: build-pages.mjs <folder> */
const [, , folder = join(root, 'dist/public')] = process.argv;
cpSync(join(root, 'public'), folder, {
  recursive: true,
  filter: (path) => !basename(path).startsWith('.') && !path.endsWith('.css'),
});
await build({
  absWorkingDir: root,
  entryPoints: [
    ...SCRIPTS.map((name) => ({ in: `src/browser/${name}.ts`, out: name })),
    ...STYLES.map((name) => ({ in: `public/${name}.css`, out: name })),
  ],
  outdir: folder,
  bundle: true,
  format: 'esm',
  minify: true,
  sourcemap: true,
  logLevel: 'warning',
});

// Compress at build time, because the best compression takes too long for a start or a request.
for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
  const path = join(folder, name);
  if (!/\.(?:css|js|json|svg)$/.test(name)) continue;
  const content = readFileSync(path);
  writeFileSync(`${path}.br`, brotliCompressSync(content));
  writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }));
}
