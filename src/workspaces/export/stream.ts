import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { finished } from 'node:stream/promises';
import { setImmediate as immediate } from 'node:timers/promises';
import { toAppError } from '../../errors.ts';
import { createCompressor, type ContentCoding } from '../../http/compression.ts';
import { sendProblem } from '../../http/problem.ts';
import { requestContext } from '../../http/request-context.ts';
import type { Session } from '../../session/record.ts';
import { abortSignalOf } from '../api-client.ts';
import type { ReadAllItems } from './all-items.ts';

/** A file format for exports. */
export interface ExportFormat {
  /** Extension of the file name, without a dot. */
  readonly extension: string;
  readonly contentType: string;
  /** Creates the writer for one export. */
  createWriter(): {
    /**
     * Formats a page of items as pieces to send one by one. Each item is JSON text on one line. Throws an AppError for an item
     * that the format can't represent.
     */
    write(items: readonly string[]): Iterable<string>;
    /** Returns the text that follows the last item. */
    end(): string;
  };
}

interface ExportHead {
  readonly format: ExportFormat;
  /** File name with an extension, in ASCII, without quotes or backslashes. */
  readonly fileName: string;
  readonly coding: ContentCoding | undefined;
}

interface ExportRequest extends ExportHead {
  readonly session: Session;
  /** Path on the service, percent-encoded where needed, without a query. */
  readonly path: string;
}

/**
 * Streams an export no faster than the client reads it, and resolves once all of it has been sent. Rejects on a failure before the first
 * byte. A later failure aborts the response, so that a partial export never looks complete.
 */
export async function streamExport(
  res: ServerResponse,
  { format, fileName, coding, ...list }: ExportRequest,
  readAllItems: ReadAllItems,
): Promise<void> {
  const signal = abortSignalOf(res);
  const context = requestContext(res);
  const writer = format.createWriter();
  const compressor = coding && createCompressor(coding);
  signal.addEventListener('abort', () => compressor?.destroy());
  const body = compressor ?? res;
  const send = async (text: string) => {
    signal.throwIfAborted();
    if (!res.headersSent) {
      writeExportHead(res, { format, fileName, coding });
      res.flushHeaders(); // or a failure before the compressor's first output would leave the client without a response
      compressor?.pipe(res);
    }
    await (body.write(text) ? immediate() : once(body, 'drain', { signal }));
  };
  try {
    for await (const items of readAllItems({ ...list, context, signal })) {
      for (const text of writer.write(items)) await send(text);
      compressor?.flush(); // the next page may take long
    }
    await send(writer.end()); // also sends the head of an empty export
    body.end();
    await finished(res); // until then, the compressor holds memory, so the export counts towards the limit
  } catch (error) {
    if (res.destroyed) return;
    if (!res.headersSent) throw error;
    sendProblem(res, toAppError(error));
  }
}

/** Writes the head without `Content-Length`, because the length of an export is unknown. */
export function writeExportHead(res: ServerResponse, { format, fileName, coding }: ExportHead): void {
  res.writeHead(200, {
    ...(coding && { 'content-encoding': coding }),
    'content-type': format.contentType,
    'content-disposition': `attachment; filename="${fileName}"`,
  });
}
