import { Router } from 'express';
import type { Request, RequestHandler, Response } from 'express';
import { AppError } from '../../errors.ts';
import type { Logger } from '../../observability/logger.ts';
import { setFrame, setReturnPath } from '../../http/error-pages.ts';
import type { Session } from '../../session/record.ts';
import { createAtOnce } from '../concurrency.ts';
import { isPathId, toItemsList, WORKSPACES } from '../list-paths.ts';
import type { ServiceList } from '../list-paths.ts';
import { createSendExport, writeExportHead } from './stream.ts';
import { CSV } from './csv.ts';
import type { ExportFormat } from './format.ts';
import { NDJSON } from './ndjson.ts';
import type { WholeList } from './all-items.ts';

const MOST_AT_ONCE = 2;

interface Exported {
  readonly list: ServiceList;
  /** Of the file, without date and extension. */
  readonly name: string;
}

/**
 * The exports of all lists, for who `signedIn` lets through: `currentSession` gives their session. Failures before the first byte are passed
 * on, that of a session which turns out to have ended (SessionEndedError) included. `kinds` are those of the items inside a
 * workspace, `now` is in ms since the epoch.
 */
export function createExportsRouter(deps: {
  readonly wholeList: WholeList;
  readonly signedIn: RequestHandler[];
  readonly currentSession: (req: Request) => Session;
  readonly kinds: readonly string[];
  readonly log: Logger;
  readonly now: () => number;
}): Router {
  const { signedIn, currentSession, kinds, now } = deps;
  const router = Router({ caseSensitive: true });
  const sendExport = createSendExport(deps);
  const enter = createAtOnce({ most: MOST_AT_ONCE });

  const answer = async (req: Request, res: Response, format: ExportFormat, { list, name }: Exported) => {
    const fileName = `${name}-${toDay(now())}.${format.extension}`;
    if (req.method === 'HEAD') {
      writeExportHead(res, { format, fileName });
      res.end();
      return;
    }
    const ticket = currentSession(req);
    const leave = enter(ticket.id);
    if (leave === null) throw new AppError('too_many_exports');
    try {
      await sendExport(res, { ticket, path: list.servicePath, format, fileName });
    } finally {
      leave();
    }
  };

  const ofItems = (req: Request): Exported | null => {
    const { id = '', kind = '' } = req.params as { id?: string; kind?: string };
    if (!isPathId(id) || !kinds.includes(kind)) return null;
    return { list: toItemsList(id, kind), name: `${kind}-${toFileName(id)}` };
  };

  const serve = (address: string, format: ExportFormat, toExported: (req: Request) => Exported | null) => {
    router.all(address, (req, res, next) => {
      const exported = toExported(req);
      if (exported !== null) {
        const { list } = exported;
        const isInside = list !== WORKSPACES; // there each error leads anyway
        setFrame(res, {
          room: 'workspaces',
          ...(isInside && { wayBack: { href: list.address, label: 'Back to the list' } }),
        });
        // A download is no page to come back to, and would leave the tab at the service: its list is one.
        setReturnPath(res, list.address);
      }
      next();
    });
    router.all(address, signedIn);
    router.get(address, async (req, res, next) => {
      const exported = toExported(req);
      if (exported === null) next();
      else await answer(req, res, format, exported);
    });
  };

  for (const format of [CSV, NDJSON]) {
    const { address } = WORKSPACES;
    serve(`${address}.${format.extension}`, format, () => ({ list: WORKSPACES, name: 'workspaces' }));
    serve(`${address}/:id/:kind.${format.extension}`, format, ofItems);
  }
  return router;
}

/** In UTC, as in `2026-11-22`. */
function toDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

const LONGEST_FILE_NAME = 64;

/** What every file system takes, and no header has to escape. */
function toFileName(id: string): string {
  return id.replaceAll(/[^A-Za-z0-9_]+/g, '-').slice(0, LONGEST_FILE_NAME);
}
