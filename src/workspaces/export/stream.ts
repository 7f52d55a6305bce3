import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import { toAppError } from '../../errors.ts';
import { goneSignal } from '../gone.ts';
import type { Logger } from '../../observability/logger.ts';
import { abortResponse } from '../../http/problem.ts';
import { requestContext } from '../../http/request-context.ts';
import type { Session } from '../../session/record.ts';
import type { ExportFormat } from './format.ts';
import type { WholeList } from './all-items.ts';

/** What to export, in which form, and on whose behalf. */
export interface ExportOrder {
  readonly ticket: Session;
  /** Path on the service, percent-encoded where needed, without a query. */
  readonly path: string;
  readonly format: ExportFormat;
  /** With its extension; ASCII without quotes and backslashes. */
  readonly fileName: string;
}

/**
 * Sends an export as it comes, no faster than it is read. Rejects where it fails before its first byte; after that a failure
 * is logged and cuts the connection off, and never ends the answer in order. Who has gone is not waited for.
 */
export type SendExport = (res: ServerResponse, order: ExportOrder) => Promise<void>;

export function createSendExport(deps: { readonly wholeList: WholeList; readonly log: Logger }): SendExport {
  return async (res, order) => {
    const signal = goneSignal(res);
    const notes = requestContext(res);
    const pages = deps.wholeList({ ...order, notes, signal });
    const texts = toTexts(pages, order.format);
    try {
      for await (const text of texts) {
        signal.throwIfAborted();
        if (!res.headersSent) writeExportHead(res, order);
        await (res.write(text) ? turn() : once(res, 'drain', { signal }));
      }
      res.end();
    } catch (error) {
      if (res.destroyed) return;
      if (!res.headersSent) throw error;
      const { status, code } = toAppError(error);
      const level = status === 500 ? 'error' : 'warn';
      deps.log[level]({ err: error, requestId: notes.requestId, code }, 'export cut off');
      abortResponse(res);
    }
  };
}

/** Says what is coming; without a length, which nobody knows. */
export function writeExportHead(res: ServerResponse, order: Pick<ExportOrder, 'format' | 'fileName'>): void {
  res.writeHead(200, {
    'content-type': order.format.contentType,
    'content-disposition': `attachment; filename="${order.fileName}"`,
  });
}

/** Piece by piece, and at least one piece. */
async function* toTexts(
  pages: AsyncIterable<readonly string[]>,
  format: ExportFormat,
): AsyncGenerator<string, void> {
  const writer = format.createWriter();
  for await (const items of pages) yield* writer.write(items);
  yield writer.end();
}
