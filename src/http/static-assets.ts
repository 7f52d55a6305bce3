import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { NextFunction, Request, Response } from 'express';

/** `public` is next to both `src` and `dist`. */
export const PUBLIC_FOLDER = new URL('../../public/', import.meta.url);
const BASE = '/assets/';
const VERSION = /^[0-9a-f]{16}\//;
/** One year, without revalidation (RFC 9111 §5.2.2.1, RFC 8246). */
const IMMUTABLE = 'public, max-age=31536000, immutable';

/**
 * Loads the styles, scripts and images for pages: all files in a folder, except hidden files. Files are served from memory, so that a
 * cached URL never gets the content of a different version.
 */
export function createAssets(folder = fileURLToPath(PUBLIC_FOLDER)) {
  const files = readFiles(folder);
  const version = versionOf(files);
  return {
    /** Returns the URL of a file in the folder. The URL changes when any file changes. Throws for an unknown file. */
    url: (file: string): string => {
      if (!files.has(file)) throw new Error(`There is no asset ${file}`);
      return `${BASE}${version}/${file}`;
    },
    /**
     * Serves `/assets/…` for GET and HEAD. Browsers cache a file under its current URL. A URL with no version, or with another version,
     * gets this process's file, which must not be cached.
     */
    serve: (req: Request, res: Response, next: NextFunction): void => {
      const path = req.path.startsWith(BASE) ? req.path.slice(BASE.length) : '';
      // The path is not decoded, and only files already in memory can be found.
      const file = path.replace(VERSION, '');
      const content = files.get(file);
      if (content === undefined || !['GET', 'HEAD'].includes(req.method)) {
        next();
        return;
      }
      res.setHeader('cache-control', path.startsWith(`${version}/`) ? IMMUTABLE : 'no-store');
      // Don't use Express's `send`, which responds to `If-None-Match: *` with a 304 that a cache would store.
      res.type(extname(file)).setHeader('content-length', content.length);
      res.end(content);
    },
  };
}

/** Reads the files in a folder, keyed by path, in the same order on every machine. */
function readFiles(folder: string): ReadonlyMap<string, Buffer> {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => !/(?:^|\/)\./.test(path) && lstatSync(join(folder, path)).isFile())
    .toSorted();
  return new Map(paths.map((path) => [path, readFileSync(join(folder, path))]));
}

/** Hashes the names and contents of files. The lengths are included, so that different folders never produce the same input. */
function versionOf(files: ReadonlyMap<string, Buffer>): string {
  const hash = createHash('sha256');
  for (const [path, content] of files) hash.update(`${path}\0${content.length}\0`).update(content);
  return hash.digest('hex').slice(0, 16);
}
