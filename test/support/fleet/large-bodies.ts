import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createDeferred } from '../../../src/promises.ts';
import { startTcpServer } from '../tcp-server.ts';

/** A prime, so that a lost or duplicated block of any common size shifts the pattern and is detected. */
const PERIOD = 65_521;
const PIECE = 256 * 1024;
const ONCE = randomBytes(PERIOD);
/** Every body consists of these bytes, repeated. */
const PATTERN = Buffer.concat(Array.from({ length: Math.ceil(PIECE / PERIOD) + 1 }, () => ONCE));
/** The response to a complete upload. */
const UPLOADED = 'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nwhole';

/** The number of body bytes that the sender has written. */
interface Progress {
  sent: number;
}

/** Sends this many bytes as fast as the receiver reads them. */
async function sendBytes(socket: Socket, bytes: number, progress: Progress): Promise<void> {
  for (progress.sent = 0; progress.sent < bytes; progress.sent += PIECE) {
    const from = progress.sent % PERIOD;
    const piece = PATTERN.subarray(from, from + Math.min(PIECE, bytes - progress.sent));
    if (!socket.write(piece)) await once(socket, 'drain');
  }
}

/**
 * Reads one message. Resolves with the head once the body has arrived complete and unchanged. Does not read
 * the body until `readAfter` resolves.
 */
async function receive(socket: Socket, readAfter?: Promise<void>): Promise<string> {
  const { promise, resolve, reject } = createDeferred<string>();
  let head: string | null = null;
  let before = Buffer.alloc(0);
  let taken = 0;
  const onBody = (chunk: Buffer, whole: string) => {
    for (let at = 0; at < chunk.length; at += PIECE) {
      const part = chunk.subarray(at, at + PIECE);
      const from = taken % PERIOD;
      if (!part.equals(PATTERN.subarray(from, from + part.length)))
        reject(new Error(`changed after ${taken}`));
      taken += part.length;
    }
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(whole)?.[1] ?? 0);
    if (taken === length) resolve(whole);
  };
  socket.on('data', (chunk: Buffer) => {
    if (head !== null) {
      onBody(chunk, head);
      return;
    }
    before = Buffer.concat([before, chunk]);
    const end = before.indexOf('\r\n\r\n');
    if (end < 0) return;
    head = before.subarray(0, end).toString('latin1');
    if (readAfter !== undefined) {
      socket.pause();
      void readAfter.then(() => socket.resume());
    }
    onBody(before.subarray(end + 4), head);
  });
  socket.once('close', () => reject(new Error(`closed after ${taken} bytes of a body`)));
  return promise;
}

/** Starts a service for large bodies on a free port. `GET …?{bytes}` downloads a body; any other method uploads one. */
export async function startLargeService() {
  const service = {
    /** The progress of the last download. */
    progress: { sent: 0 },
    /** The service starts reading upload bodies once this promise has resolved. */
    readAfter: Promise.resolve(),
  };
  const serve = async (socket: Socket) => {
    const head = await receive(socket, service.readAfter);
    const bytes = Number(/^GET [^ ?]*\?(\d+) /.exec(head)?.[1] ?? Number.NaN);
    if (Number.isNaN(bytes)) socket.write(UPLOADED);
    else {
      socket.write(`HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: ${bytes}\r\n\r\n`);
      await sendBytes(socket, bytes, service.progress);
    }
    socket.end();
  };
  const server = await startTcpServer((socket) => {
    serve(socket).catch(() => socket.destroy());
  });
  return Object.assign(service, {
    origin: `http://127.0.0.1:${server.port}`,
    [Symbol.asyncDispose]: async () => server[Symbol.asyncDispose](),
  });
}

/** Downloads this many bytes over a new connection. Reads the body once `readAfter` resolves. Rejects if the body is incomplete. */
export async function download(url: string, cookie: string, bytes: number, readAfter?: Promise<void>) {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.write(`GET ${PATH}?${bytes} HTTP/1.1\r\nHost: x\r\nCookie: ${cookie}\r\nConnection: close\r\n\r\n`);
  const head = await receive(socket, readAfter);
  socket.destroy();
  if (!head.startsWith('HTTP/1.1 200 ')) throw new Error(head);
}

/** Uploads this many bytes over a new connection. Rejects unless the service has received every byte. */
export async function upload(url: string, cookie: string, bytes: number, progress: Progress = { sent: 0 }) {
  const socket = connect(Number(new URL(url).port), '127.0.0.1').setEncoding('latin1');
  let response = '';
  socket.on('data', (text: string) => (response += text));
  const closed = once(socket, 'close');
  const fields = `Cookie: ${cookie}\r\nSec-Fetch-Site: same-origin\r\nConnection: close\r\n`;
  socket.write(`PUT ${PATH} HTTP/1.1\r\nHost: x\r\n${fields}Content-Length: ${bytes}\r\n\r\n`);
  await Promise.all([sendBytes(socket, bytes, progress), closed]);
  if (!response.startsWith('HTTP/1.1 200 ') || !response.endsWith('whole')) throw new Error(response);
}

const PATH = '/api/public/v1/large';
