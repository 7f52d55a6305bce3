import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * Bundles run.ts with its packages into one file, and writes V8's code cache for this version of Node (src/load-server.ts). The bundle is
 * CommonJS, because Node 24 loads its own HTTP client when an ES module imports `node:http`. esbuild may rename a class, but keepNames would
 * add 2 µs for each function that a request creates. Licence comments go into a file beside the bundle. Usage: build-server.mjs <compiled src>
 */
const [, , dist = join(root, 'dist')] = process.argv;
const outfile = join(dist, 'server/run.cjs'); // as deep as the modules that find `views` relative to themselves

/**
 * Replaces the entry files of undici and body-parser. undici's also loads its pools, caches and mocks, and body-parser's loads the parsers
 * that Express exports. The server uses none of them, and they take 5 MB of memory. esbuild fails if the server imports anything else from
 * undici.
 *
 * @type {import('esbuild').Plugin}
 */
const leaveUnusedCodeOut = {
  name: 'leave unused code out',
  setup(bundle) {
    bundle.onLoad({ filter: /\/node_modules\/undici\/index\.js$/ }, () => ({
      contents: `
        import Dispatcher from './lib/dispatcher/dispatcher.js';
        import api from './lib/api/index.js';
        import Client from './lib/dispatcher/client.js';
        import buildConnector from './lib/core/connect.js';
        Object.assign(Dispatcher.prototype, api);
        export { Dispatcher, Client, buildConnector };`,
    }));
    bundle.onLoad({ filter: /\/node_modules\/body-parser\/index\.js$/ }, () => ({
      contents: 'module.exports = {};',
    }));
  },
};
const { metafile } = await build({
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
  plugins: [leaveUnusedCodeOut],
  minifyWhitespace: true, // because the source stays in memory
  lineLimit: 160, // because stack traces name lines
  metafile: true,
  legalComments: 'external',
  logLevel: 'warning',
});
const code = readFileSync(outfile, 'utf8');
if (Buffer.byteLength(code) > code.length)
  throw new Error('The bundle contains characters that load-server.ts can’t read.');
if (Object.keys(metafile.inputs).some((path) => /\/(?:mock-agent\.js|raw-body\/)/.test(path)))
  throw new Error('The bundle contains code that `leaveUnusedCodeOut` was meant to leave out.');
const { loadServer } = /** @type {typeof import('../src/load-server.ts')} */ (
  await import(pathToFileURL(join(dist, 'load-server.js')).href)
);
loadServer({ saveCache: true });
