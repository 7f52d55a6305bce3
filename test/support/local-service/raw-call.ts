import type { Server } from 'node:http';
import { exchangeBytes } from '../raw.ts';
import { portOf } from './service-under-test.ts';

/** An answer as it came, whole; a supertest Response has the same members. */
export interface Answer {
  readonly status: number;
  readonly text: string;
  get(name: string): string | undefined;
}

export const FORM = 'application/x-www-form-urlencoded';

/**
 * Calls with request line, headers and body as they stand, a character of the head a byte (Latin-1). Rejects where no
 * whole answer comes back in time.
 */
export async function callRaw(
  server: Server,
  requestLine: string,
  headers: readonly string[] = [],
  body: Uint8Array = new Uint8Array(),
): Promise<Answer> {
  const head = [`${requestLine} HTTP/1.1`, 'host: service.test', 'connection: close', ...headers, '', ''];
  const bytes = Buffer.concat([Buffer.from(head.join('\r\n'), 'latin1'), body]);
  return toAnswer(await exchangeBytes(portOf(server), bytes));
}

/** Posts a body as it is, of this type. */
export function postRaw(
  server: Server,
  path: string,
  body: Uint8Array,
  type = FORM,
  ...headers: readonly string[]
): Promise<Answer> {
  const lines = [`content-type: ${type}`, `content-length: ${body.length}`, ...headers];
  return callRaw(server, `POST ${path}`, lines, body);
}

function toAnswer(bytes: Buffer): Answer {
  const end = bytes.indexOf('\r\n\r\n');
  const [status = '', ...lines] = bytes.subarray(0, Math.max(end, 0)).toString('latin1').split('\r\n');
  const headers = new Map(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]),
  );
  const body = bytes.subarray(end + 4);
  if (!/^HTTP\/1\.1 \d{3} /.test(status) || headers.get('content-length') !== String(body.length)) {
    throw new Error(`The answer was cut off or has no length: ${bytes.toString('latin1')}`);
  }
  return {
    status: Number(status.slice(9, 12)),
    text: body.toString('utf8'),
    get: (name) => headers.get(name.toLowerCase()),
  };
}
