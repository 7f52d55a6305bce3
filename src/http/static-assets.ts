import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { NextFunction, Request, Response } from 'express';

/** `public` stands beside both `src` and `dist`. */
export const PUBLIC_FOLDER = new URL('../../public/', import.meta.url);
const BASE = '/assets/';
const VERSION = /^[0-9a-f]{16}\//;
/** A year, without revalidation (RFC 9111 §5.2.2.1, RFC 8246). */
const IMMUTABLE = 'public, max-age=31536000, immutable';

/**
 * Reads the styles, scripts and pictures of our pages: all files of a folder but hidden ones. Serves what it read, even if the
 * folder changes. Otherwise a URL that browsers cache could get the content of another version.
 */
export function createAssets(folder = fileURLToPath(PUBLIC_FOLDER)) {
  const files = readFiles(folder);
  const version = versionOf(files);
  return {
    /** The URL of a file by its path in the folder. It changes when any file changes. Throws for an unknown file. */
    url: (file: string): string => {
      if (!files.has(file)) throw new Error(`There is no asset ${file}`);
      return `${BASE}${version}/${file}`;
    },
    /**
     * Serves `/assets/…` to GET and HEAD. Browsers cache a file under its own URL. A URL may have the version of an older or
     * newer process, or none. Under such a URL they get the file of this process and do not store it.
     */
    serve: (req: Request, res: Response, next: NextFunction): void => {
      const path = req.path.startsWith(BASE) ? req.path.slice(BASE.length) : '';
      // Nothing is decoded, and only files that were read can be found.
      const file = path.replace(VERSION, '');
      const content = files.get(file);
      if (content === undefined || !['GET', 'HEAD'].includes(req.method)) {
        next();
        return;
      }
      res.setHeader('cache-control', path.startsWith(`${version}/`) ? IMMUTABLE : 'no-store');
      // Not express's `send`, which responds to `If-None-Match: *` with a 304, which a cache would store.
      res.type(extname(file)).setHeader('content-length', content.length);
      res.end(content);
    },
  };
}

/** Reads the files of a folder by path, in an order that is the same on every machine. */
function readFiles(folder: string): ReadonlyMap<string, Buffer> {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => !/(?:^|\/)\./.test(path) && lstatSync(join(folder, path)).isFile())
    .toSorted();
  return new Map(paths.map((path) => [path, readFileSync(join(folder, path))]));
}

/** Hashes names and contents. The hash includes the lengths, so that no two folders give the same bytes. */
function versionOf(files: ReadonlyMap<string, Buffer>): string {
  const hash = createHash('sha256');
  for (const [path, content] of files) hash.update(`${path}\0${content.length}\0`).update(content);
  return hash.digest('hex').slice(0, 16);
}
