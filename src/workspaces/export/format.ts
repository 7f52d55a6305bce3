/** Writes one export. What it returns is sent as it is. */
interface ExportWriter {
  /**
   * A page of items, each as JSON text on one line; in pieces, so that no more of it than needed waits to be sent. Throws
   * an AppError where one of them can't be written.
   */
  write(items: readonly string[]): Iterable<string>;
  /** What is still missing when all items are written. */
  end(): string;
}

/** A form in which a list can be taken away. */
export interface ExportFormat {
  /** Without a dot: the end of its address and of its file's name. */
  readonly extension: string;
  readonly contentType: string;
  createWriter(): ExportWriter;
}
