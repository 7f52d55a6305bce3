import type { ExportFormat } from './format.ts';

/** One item a line, as the service gave it. */
export const NDJSON: ExportFormat = {
  extension: 'ndjson',
  contentType: 'application/x-ndjson',
  createWriter: () => ({
    write: (items) => [items.map((item) => `${item}\n`).join('')],
    end: () => '',
  }),
};
