/** An HTTP/1.1 message as sent on the wire. Text is Latin-1, one character per byte. */
export interface RawMessage {
  /** The request line or status line. */
  readonly start: string;
  /** The header fields in their original order and spelling. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** All bytes after the head, including chunk sizes. */
  readonly rest: Buffer;
}

/** Parses a message, or returns null if its head is incomplete. */
export function readMessage(bytes: Buffer): RawMessage | null {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const [start = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const fields = lines.map((line) => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon), line.slice(colon + 1).trim()] as const;
  });
  return { start, fields, rest: bytes.subarray(end + 4) };
}

/** Returns the values of a field. `name` is in lower case. */
export function valuesOf({ fields }: Pick<RawMessage, 'fields'>, name: string): string[] {
  return fields.filter(([each]) => each.toLowerCase() === name).map(([, value]) => value);
}

/** Returns all fields except those with these lower-case names. */
export function withoutFields(
  { fields }: Pick<RawMessage, 'fields'>,
  names: readonly string[],
): RawMessage['fields'] {
  return fields.filter(([name]) => !names.includes(name.toLowerCase()));
}

/** Decodes a chunked body, or returns null if the last chunk or the trailer section is missing. */
export function dechunk(rest: Buffer): Buffer | null {
  return readChunks(rest)?.body ?? null;
}

/** Returns the body of a request according to its framing (RFC 9112 §6.3), or null if the body is incomplete. */
export function bodyOf(message: RawMessage): Buffer | null {
  return readBody(message)?.body ?? null;
}

/** Parses the first request in these bytes; `length` is the size of the request. Returns null if the request is incomplete. */
export function readRequest(
  bytes: Buffer,
): (RawMessage & { readonly body: Buffer; readonly length: number }) | null {
  const message = readMessage(bytes);
  const framed = message && readBody(message);
  if (message === null || framed === null) return null;
  return { ...message, body: framed.body, length: bytes.length - message.rest.length + framed.length };
}

/** A body and its size on the wire. */
interface FramedBody {
  readonly body: Buffer;
  readonly length: number;
}

function readBody(message: RawMessage): FramedBody | null {
  if (valuesOf(message, 'transfer-encoding').length > 0) return readChunks(message.rest);
  const length = Number(valuesOf(message, 'content-length')[0] ?? 0);
  return message.rest.length < length ? null : { body: message.rest.subarray(0, length), length };
}

function readChunks(rest: Buffer): FramedBody | null {
  const parts: Buffer[] = [];
  for (let at = 0; ;) {
    const lineEnd = rest.indexOf('\r\n', at);
    if (lineEnd < 0) return null;
    const size = Number.parseInt(rest.subarray(at, lineEnd).toString('latin1'), 16);
    const begin = lineEnd + 2;
    if (size === 0) {
      const end = rest.indexOf('\r\n\r\n', lineEnd); // after the trailer section (RFC 9112 §7.1.2)
      return end < 0 ? null : { body: Buffer.concat(parts), length: end + 4 };
    }
    if (rest.length < begin + size + 2) return null;
    parts.push(rest.subarray(begin, begin + size));
    at = begin + size + 2;
  }
}
