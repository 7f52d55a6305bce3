import { Router, type Request, type RequestHandler, type Response } from 'express';
import { AppError } from '../../errors.ts';
import { contentCoding } from '../../http/compression.ts';
import { setErrorPageFrame, setReturnPath } from '../../http/error-pages.ts';
import type { Session } from '../../session/record.ts';
import { createConcurrencyLimiter } from '../concurrency.ts';
import { isPathId, itemListPaths, WORKSPACES, type ListPaths } from '../urls.ts';
import type { ReadAllItems } from './all-items.ts';
import { CSV } from './csv.ts';
import { NDJSON } from './json.ts';
import { streamExport, writeExportHead, type ExportFormat } from './stream.ts';

const MAX_EXPORTS_PER_SESSION = 2;

interface ExportedList {
  readonly paths: ListPaths;
  /** File name without the date and extension. */
  readonly name: string;
}

/** Creates the router for all exports. Failures before the first byte are passed to the error handlers. */
export function createExportsRouter(deps: {
  readonly readAllItems: ReadAllItems;
  /** Admits only signed-in clients. */
  readonly signedIn: RequestHandler[];
  readonly currentSession: (req: Request) => Session;
  /** The kinds of item in a workspace. */
  readonly kinds: readonly string[];
  readonly now: () => number;
}): Router {
  const { signedIn, currentSession, kinds, now } = deps;
  const router = Router({ caseSensitive: true });
  const begin = createConcurrencyLimiter({ perSession: MAX_EXPORTS_PER_SESSION });

  const serve = (path: string, format: ExportFormat, toList: (req: Request) => ExportedList | null) => {
    router.all(path, (req, res, next) => {
      const list = toList(req);
      if (list !== null) frameErrorPages(res, list.paths);
      next();
    });
    router.all(path, signedIn);
    router.get(path, async (req, res, next) => {
      const list = toList(req);
      if (list === null) next();
      else await sendExport(req, res, format, list);
    });
  };

  const sendExport = async (req: Request, res: Response, format: ExportFormat, list: ExportedList) => {
    const day = new Date(now()).toISOString().slice(0, 10);
    const fileName = `${list.name}-${day}.${format.extension}`;
    const coding = contentCoding(req, res);
    if (req.method === 'HEAD') {
      writeExportHead(res, { format, fileName, coding });
      res.end();
      return;
    }
    const session = currentSession(req);
    const end = begin(session.id);
    if (end === null) throw new AppError('too_many_exports');
    try {
      const request = { session, path: list.paths.servicePath, format, fileName, coding };
      await streamExport(res, request, deps.readAllItems);
    } finally {
      end();
    }
  };

  const toItemList = (req: Request): ExportedList | null => {
    const { id = '', kind = '' } = req.params as { id?: string; kind?: string };
    if (!isPathId(id) || !kinds.includes(kind)) return null;
    return { paths: itemListPaths(id, kind), name: `${kind}-${toFileName(id)}` };
  };

  for (const format of [CSV, NDJSON]) {
    const { path } = WORKSPACES;
    serve(`${path}.${format.extension}`, format, () => ({ paths: WORKSPACES, name: 'workspaces' }));
    serve(`${path}/:id/:kind.${format.extension}`, format, toItemList);
  }
  return router;
}

function frameErrorPages(res: Response, list: ListPaths): void {
  const isInside = list !== WORKSPACES; // error pages already link to the workspaces
  setErrorPageFrame(res, {
    section: 'workspaces',
    ...(isInside && { backLink: { href: list.path, label: 'Back to the list' } }),
  });
  // Sign-in returns to the list, because a download would leave the tab on the service's page.
  setReturnPath(res, list.path);
}

const MAX_FILE_NAME_LENGTH = 64;

/** Keeps only characters that every file system accepts and that need no escaping in a header. */
function toFileName(id: string): string {
  return id.replaceAll(/[^A-Za-z0-9_]+/g, '-').slice(0, MAX_FILE_NAME_LENGTH);
}
