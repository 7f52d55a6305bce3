import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { NextFunction, Request, Response } from 'express';
import { contentCoding, type ContentCoding } from './compression.ts';

/** The built files (scripts/build-pages.mjs). `dist` is next to `src`. */
export const PUBLIC_FOLDER = new URL('../../dist/public/', import.meta.url);
const BASE = '/assets/';
const VERSION = /^([0-9a-f]{16})\//;
/** One year, without revalidation (RFC 9111 §5.2.2.1, RFC 8246). */
const IMMUTABLE = 'public, max-age=31536000, immutable';

/**
 * Loads the styles, scripts and images for pages: all files in a folder, except hidden files. Files are served from memory, so that a
 * cached URL never gets the content of a different version.
 */
export function createAssets(folder = fileURLToPath(PUBLIC_FOLDER)) {
  const files = readFiles(folder);

  /** Sends a file, compressed if possible. Throws for an unknown file. */
  const send = (req: Request, res: Response, name: string): void => {
    const file = files.get(name);
    if (file === undefined) throw new Error(`There is no asset ${name}`);
    const coding = contentCoding(req, res);
    const compressed = coding && file[coding];
    if (compressed) res.setHeader('content-encoding', coding);
    const content = compressed ?? file.identity;
    // Don't use Express's `send`, which responds to `If-None-Match: *` with a 304 that a cache would store.
    res.type(extname(name)).setHeader('content-length', content.length);
    res.end(content);
  };

  return {
    send,
    /** Returns the URL of a file in the folder. The URL changes with the file. Throws for an unknown file. */
    url: (file: string): string => {
      const version = files.get(file)?.version;
      if (version === undefined) throw new Error(`There is no asset ${file}`);
      return `${BASE}${version}/${file}`;
    },
    /**
     * Serves `/assets/…` for GET and HEAD. Browsers cache a file under its current URL. A URL with no version, or with another version,
     * gets this process's file, which must not be cached.
     */
    serve: (req: Request, res: Response, next: NextFunction): void => {
      const path = req.path.startsWith(BASE) ? req.path.slice(BASE.length) : '';
      // The path is not decoded, and only files already in memory can be found.
      const name = path.replace(VERSION, '');
      const file = files.get(name);
      if (file === undefined || !['GET', 'HEAD'].includes(req.method)) {
        next();
        return;
      }
      res.setHeader('cache-control', VERSION.exec(path)?.[1] === file.version ? IMMUTABLE : 'no-store');
      send(req, res, name);
    },
  };
}

export type Assets = ReturnType<typeof createAssets>;

type Asset = Readonly<Partial<Record<ContentCoding, Buffer>>> & {
  readonly identity: Buffer;
  /** The start of the content's hash. */
  readonly version: string;
};

/** Reads the files in a folder, keyed by path, with the compressed copies that the build put next to them. */
function readFiles(folder: string): ReadonlyMap<string, Asset> {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (path) => !/(?:^|\/)\./.test(path) && lstatSync(join(folder, path)).isFile(),
  );
  const contents = new Map(paths.map((path) => [path, readFileSync(join(folder, path))]));
  const files = new Map<string, Asset>();
  for (const [path, identity] of contents) {
    if (/\.(?:br|gz)$/.test(path)) continue;
    const version = createHash('sha256').update(identity).digest('hex').slice(0, 16);
    const [br, gzip] = [contents.get(`${path}.br`), contents.get(`${path}.gz`)];
    files.set(path, { identity, version, ...(br && { br }), ...(gzip && { gzip }) });
  }
  return files;
}
