import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { loadServer } from '../../src/load-server.ts';

let path: string;
let folder: URL;
beforeEach(() => {
  path = mkdtempSync(join(tmpdir(), 'cloakroom-bundle-'));
  folder = pathToFileURL(`${path}/`);
});
afterEach(() => rmSync(path, { recursive: true }));

const bundleOf = (exported: string) => `(function (require, module) { module.exports = '${exported}'; })`;
const writeBundle = (exported: string) => writeFileSync(join(path, 'run.cjs'), bundleOf(exported));
const cachePath = () => join(path, 'run.cache');

/**
 * Writes a bundle and its code cache. Returns the code cache without its digest. Each test needs its own bundles, because V8 also keeps
 * compiled sources in memory.
 */
function writeWithCache(exported: string): Buffer {
  writeBundle(exported);
  loadServer({ folder, saveCache: true });
  return readFileSync(cachePath()).subarray(32);
}

test('the server is loaded from the code cache', () => {
  const cache = writeWithCache('old');
  const digest = createHash('sha256').update(bundleOf('new')).update(cache).digest();
  writeFileSync(cachePath(), Buffer.concat([digest, cache]));
  writeBundle('new');
  expect(loadServer({ folder })).toBe('old'); // V8 compares only the length of the source
});

test('a code cache whose digest is wrong is not used', () => {
  writeWithCache('one');
  writeBundle('two');
  expect(loadServer({ folder })).toBe('two');
});

test('loading the server writes no code cache', () => {
  writeBundle('server');
  expect(loadServer({ folder })).toBe('server');
  expect(existsSync(cachePath())).toBe(false);
});
