import { once } from 'node:events';
import type { Server } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';

/** An answer as it came, whole; a supertest Response has the same members. */
export interface Answer {
  readonly status: number;
  readonly text: string;
  get(name: string): string | undefined;
}

export const FORM = 'application/x-www-form-urlencoded';

const ANSWER_WITHIN_MS = 5_000;

/**
 * Sends a request as it stands, over a connection of its own: a string in Latin-1, a byte each. Rejects where no whole
 * answer comes back in time.
 */
export async function sendRaw(
  server: Server,
  requestLine: string,
  headers: readonly string[] = [],
  body: Uint8Array | string = '',
): Promise<Answer> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.setTimeout(ANSWER_WITHIN_MS, () => socket.destroy(new Error('No answer in time.')));
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  const head = [`${requestLine} HTTP/1.1`, 'host: service.test', 'connection: close', ...headers, '', ''];
  socket.write(Buffer.from(head.join('\r\n'), 'latin1'));
  if (body.length > 0) socket.write(body);
  await once(socket, 'close');
  return toAnswer(Buffer.concat(chunks));
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
  return sendRaw(server, `POST ${path}`, lines, body);
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
