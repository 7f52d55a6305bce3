import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RequestHandler } from 'express';

/** The folder has the same place beside `src` and `dist`. */
const PUBLIC = fileURLToPath(new URL('../../public', import.meta.url));
const BASE = '/assets/';
const VERSION = /^[0-9a-f]{16}\//;
/** A year, and no question in between (RFC 9111 §5.2.2.1, RFC 8246). */
const FOR_GOOD = 'public, max-age=31536000, immutable';

/** The styles, scripts and pictures of our pages. */
export interface Assets {
  /** The address of a file by its path in the folder. It changes with any of the files. Throws where there is no such file. */
  readonly address: (file: string) => string;
  /**
   * Answers `/assets/…` for GET and HEAD. A file is kept for good under its address; under one of another version (of a process
   * that is older or newer than this) or of none it is given as it is here, and kept nowhere.
   */
  readonly serve: RequestHandler;
}

/**
 * Reads all files of a folder at once, but for hidden ones. What is sent is what was read, whatever happens to the folder: or an
 * address that browsers keep for good could get the content of another version.
 */
export function createAssets(folder = PUBLIC): Assets {
  const files = readFiles(folder);
  const version = versionOf(files);
  return {
    address(file) {
      if (!files.has(file)) throw new Error(`There is no asset ${file}`);
      return `${BASE}${version}/${file}`;
    },
    serve(req, res, next) {
      const path = req.path.startsWith(BASE) ? req.path.slice(BASE.length) : '';
      const file = path.replace(VERSION, '');
      // Taken as it is written: nothing is decoded, and there is nothing but what was read.
      const content = files.get(file);
      if (content === undefined || !['GET', 'HEAD'].includes(req.method)) {
        next();
        return;
      }
      res.setHeader('cache-control', path.startsWith(`${version}/`) ? FOR_GOOD : 'no-store');
      // Not `send`, which answers `If-None-Match: *` with a 304, to be kept for good.
      res.type(extname(file)).setHeader('content-length', content.length);
      res.end(content);
    },
  };
}

type Files = ReadonlyMap<string, Buffer>;

/** By path, in an order that is the same everywhere. */
function readFiles(folder: string): Files {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => !/(?:^|\/)\./.test(path) && lstatSync(join(folder, path)).isFile())
    .toSorted();
  return new Map(paths.map((path) => [path, readFileSync(join(folder, path))]));
}

/** Of names and contents, with lengths between them: no two folders run together into the same bytes. */
function versionOf(files: Files): string {
  const hash = createHash('sha256');
  for (const [path, content] of files) hash.update(`${path}\0${content.length}\0`).update(content);
  return hash.digest('hex').slice(0, 16);
}
