/** An HTTP/1.1 message as it stood on the wire. Text is Latin-1: a character a byte. */
export interface RawMessage {
  /** Request line or status line. */
  readonly start: string;
  /** Header fields in their order, as they were spelt. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** What came behind the head, chunk sizes included. */
  readonly rest: Buffer;
}

/** Takes a message apart; null where its head is not whole yet. */
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

/** The values of a field, by its name in lower case. */
export function valuesOf({ fields }: Pick<RawMessage, 'fields'>, name: string): string[] {
  return fields.filter(([each]) => each.toLowerCase() === name).map(([, value]) => value);
}

/** The fields but for those of these names, in lower case. */
export function without(
  { fields }: Pick<RawMessage, 'fields'>,
  names: readonly string[],
): RawMessage['fields'] {
  return fields.filter(([name]) => !names.includes(name.toLowerCase()));
}

/** A body in chunks, put together; null where its last chunk, or what follows it, has not come. */
export function dechunk(rest: Buffer): Buffer | null {
  const parts: Buffer[] = [];
  for (let at = 0; ;) {
    const lineEnd = rest.indexOf('\r\n', at);
    if (lineEnd < 0) return null;
    const size = Number.parseInt(rest.subarray(at, lineEnd).toString('latin1'), 16);
    const begin = lineEnd + 2;
    if (size === 0) return rest.indexOf('\r\n', begin) < 0 ? null : Buffer.concat(parts);
    if (rest.length < begin + size + 2) return null;
    parts.push(rest.subarray(begin, begin + size));
    at = begin + size + 2;
  }
}

/** The body of a request by its framing (RFC 9112 §6.3); null where it is not whole yet. */
export function bodyOf(message: RawMessage): Buffer | null {
  if (valuesOf(message, 'transfer-encoding').length > 0) return dechunk(message.rest);
  const length = Number(valuesOf(message, 'content-length')[0] ?? 0);
  return message.rest.length < length ? null : message.rest.subarray(0, length);
}
