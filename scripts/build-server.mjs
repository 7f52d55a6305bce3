import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, transform } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * Bundles run.ts with its packages into one file, and writes V8's code cache for this version of Node (src/load-server.ts). The bundle is
 * CommonJS, because Node 24 loads its own HTTP client when an ES module imports `node:http`. esbuild may rename a class, but keepNames would
 * add 2 µs for each function that a request creates. Licence comments go into a file beside the bundle. Usage: build-server.mjs <compiled src>
 */
const [, , dist = join(root, 'dist')] = process.argv;
const outfile = join(dist, 'server/run.cjs'); // as deep as the modules that find `views` relative to themselves
await build({
  absWorkingDir: root,
  entryPoints: ['src/run.ts'],
  outfile,
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  format: 'cjs',
  define: { 'import.meta.url': 'importMetaUrl' },
  // A function expression, because wrapping the source when it is loaded would copy it.
  banner: { js: '(function (require, module, importMetaUrl) {' },
  footer: { js: '})' },
  legalComments: 'external',
  logLevel: 'warning',
});
const { code } = await transform(readFileSync(outfile, 'utf8'), { minifyWhitespace: true }); // without comments
if (Buffer.byteLength(code) > code.length)
  throw new Error('The bundle contains characters that load-server.ts can’t read.');
const { loadServer } = /** @type {typeof import('../src/load-server.ts')} */ (
  await import(pathToFileURL(join(dist, 'load-server.js')).href)
);
loadServer({ saveCache: true });
