/** Counts an export's items by scanning its bytes. In UTF-8, a line feed or quote byte is never part of another character. */

const LINE_FEED = 0x0a;
const QUOTE = 0x22;

/** Creates a function that takes the next bytes of an NDJSON export and returns the number of items so far. */
export function createLineCount(): (bytes: Uint8Array) => number {
  let items = 0;
  return (bytes) => {
    for (const byte of bytes) if (byte === LINE_FEED) items += 1;
    return items;
  };
}

/**
 * Creates a function that counts the items in a CSV export (RFC 4180). A quoted line break does not end a record, and the first
 * record is the header.
 */
export function createRecordCount(): (bytes: Uint8Array) => number {
  let records = 0;
  let isQuoted = false;
  return (bytes) => {
    for (const byte of bytes) {
      if (byte === QUOTE) isQuoted = !isQuoted;
      else if (byte === LINE_FEED && !isQuoted) records += 1;
    }
    return Math.max(0, records - 1);
  };
}
