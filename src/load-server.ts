import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Script } from 'node:vm';
import type * as server from './run.ts';

type Bundle = (require: NodeJS.Require, module: { exports: unknown }, importMetaUrl: string) => void;

/**
 * Loads run.ts and its packages from the bundle that scripts/build-server.mjs builds. Reading one file with V8's code cache takes a third
 * of the time of importing 700 files. Without a usable cache, for example with another version of V8, V8 compiles the bundle. `saveCache`
 * writes the cache, including the functions that ran while the bundle loaded; module.enableCompileCache() would omit these functions.
 */
export function loadServer({ saveCache = false, folder = new URL('server/', import.meta.url) } = {}) {
  const url = new URL('run.cjs', folder);
  const cacheUrl = new URL('run.cache', folder);
  const source = readFileSync(url);
  // Node keeps a Latin-1 string of more than 1 MB outside V8's heap, with one byte for each character.
  const script = new Script(source.toString('latin1'), {
    filename: 'server/run.cjs', // without the folder, because V8 takes the name from the cache
    ...(!saveCache && { cachedData: readCache(cacheUrl, source) }),
  });
  const bundle = { exports: {} as typeof server };
  (script.runInThisContext() as Bundle)(createRequire(url), bundle, url.href);
  if (saveCache) {
    const cache = script.createCachedData();
    writeFileSync(cacheUrl, Buffer.concat([digestOf(source, cache), cache]));
  }
  return bundle.exports;
}

/** Reads the cache, which starts with a digest. V8 itself would run the code of another bundle, and crash if the cache is damaged. */
function readCache(url: URL, source: Buffer): Buffer | undefined {
  try {
    const file = readFileSync(url);
    const cache = file.subarray(32);
    return file.subarray(0, 32).equals(digestOf(source, cache)) ? cache : undefined;
  } catch {
    return undefined;
  }
}

function digestOf(source: Buffer, cache: Buffer): Buffer {
  return createHash('sha256').update(source).update(cache).digest();
}
