import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createDeferred } from '../../../src/promises.ts';
import { startTcpServer } from '../tcp-server.ts';

/** A prime, so that whatever is lost or doubled on the way in blocks of the usual sizes shows. */
const PERIOD = 65_521;
const PIECE = 256 * 1024;
const ONCE = randomBytes(PERIOD);
/** The bytes of every body here, over and over. */
const PATTERN = Buffer.concat(Array.from({ length: Math.ceil(PIECE / PERIOD) + 1 }, () => ONCE));
/** the response to an upload that has come whole. */
const THANKS = 'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nwhole';

/** How far the last body has got: what its sender could give away. */
export interface Progress {
  sent: number;
}

/** Sends so many bytes as fast as the other side takes them. */
async function pour(socket: Socket, bytes: number, progress: Progress): Promise<void> {
  for (progress.sent = 0; progress.sent < bytes; progress.sent += PIECE) {
    const from = progress.sent % PERIOD;
    const piece = PATTERN.subarray(from, from + Math.min(PIECE, bytes - progress.sent));
    if (!socket.write(piece)) await once(socket, 'drain');
  }
}

/**
 * Takes one message in, and resolves with its head once its body has come whole and unchanged. Between the two it reads
 * nothing until `goOn`.
 */
async function takeIn(socket: Socket, goOn?: Promise<void>): Promise<string> {
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
    if (goOn !== undefined) {
      socket.pause();
      void goOn.then(() => socket.resume());
    }
    onBody(before.subarray(end + 4), head);
  });
  socket.once('close', () => reject(new Error(`closed after ${taken} bytes of a body`)));
  return promise;
}

/** A service of large bodies: `GET …?{bytes}` gives one, any other method takes one. */
export interface LargeService extends AsyncDisposable {
  readonly origin: string;
  /** Of the last download. */
  readonly progress: Progress;
  /** It reads the bodies of uploads from then on. */
  goOn: Promise<void>;
}

/** Starts it on a free port. */
export async function startLargeService(): Promise<LargeService> {
  const service = { progress: { sent: 0 }, goOn: Promise.resolve() };
  const serve = async (socket: Socket) => {
    const head = await takeIn(socket, service.goOn);
    const bytes = Number(/^GET [^ ?]*\?(\d+) /.exec(head)?.[1] ?? Number.NaN);
    if (Number.isNaN(bytes)) socket.write(THANKS);
    else {
      socket.write(`HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: ${bytes}\r\n\r\n`);
      await pour(socket, bytes, service.progress);
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

/**
 * Downloads so many bytes over a connection of its own, its body not before `goOn`; rejects where they don't come whole
 * and unchanged.
 */
export async function download(
  url: string,
  cookie: string,
  bytes: number,
  goOn?: Promise<void>,
): Promise<void> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.write(`GET ${PATH}?${bytes} HTTP/1.1\r\nHost: x\r\nCookie: ${cookie}\r\nConnection: close\r\n\r\n`);
  const head = await takeIn(socket, goOn);
  socket.destroy();
  if (!head.startsWith('HTTP/1.1 200 ')) throw new Error(head);
}

/** Uploads so many bytes over a connection of its own; rejects where the service doesn't say that they came whole. */
export async function upload(
  url: string,
  cookie: string,
  bytes: number,
  progress: Progress = { sent: 0 },
): Promise<void> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1').setEncoding('latin1');
  let response = '';
  socket.on('data', (text: string) => (response += text));
  const over = once(socket, 'close');
  const fields = `Cookie: ${cookie}\r\nSec-Fetch-Site: same-origin\r\nConnection: close\r\n`;
  socket.write(`PUT ${PATH} HTTP/1.1\r\nHost: x\r\n${fields}Content-Length: ${bytes}\r\n\r\n`);
  await Promise.all([pour(socket, bytes, progress), over]);
  if (!response.startsWith('HTTP/1.1 200 ') || !response.endsWith('whole')) throw new Error(response);
}

const PATH = '/api/public/v1/large';
