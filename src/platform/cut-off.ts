import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Breaks off an answer that has begun: its connection ends with it, so that half of it looks like no whole. One that
 * waits for the answers before it is cut off when its turn comes; `destroy()` alone does that in Node 20, but Node 24
 * would send what is there and leave the reader waiting.
 */
export function cutOff(res: ServerResponse): void {
  // HTTP/1.0 knows no chunks: the end of its connection would be the end of the answer (RFC 9112 §8).
  const cut = (socket: Socket) =>
    res.req.httpVersion === '1.0' ? socket.resetAndDestroy() : socket.destroy();
  if (res.socket === null) res.once('socket', cut);
  else cut(res.socket);
  res.destroy();
}
