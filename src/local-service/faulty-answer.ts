import type { Response } from 'express';

/** Calls `take` with the whole body in place of sending it; the answer's status and headers are still its to change. */
export function beforeAnswer(res: Response, take: (body: Buffer) => void): void {
  const end = res.end.bind(res);
  const instead = (chunk?: unknown, encoding?: unknown) => {
    res.end = end;
    take(toBuffer(chunk, encoding));
    return res;
  };
  res.end = instead as typeof end;
}

function toBuffer(chunk: unknown, encoding: unknown): Buffer {
  if (Buffer.isBuffer(chunk)) return chunk;
  if (typeof chunk !== 'string') return Buffer.alloc(0);
  return Buffer.from(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8');
}

/** Ends the connection with a TCP reset: nothing more is sent, not even what is on its way. */
export function resetConnection(res: Response): void {
  res.req.socket.resetAndDestroy();
}

/**
 * Sends the headers, with the length of the whole body, and the first half of it; then closes the connection. What
 * has no body to cut is reset.
 */
export function cutAnswer(res: Response, body: Buffer): void {
  const half = body.subarray(0, Math.floor(body.length / 2));
  if (half.length === 0) {
    resetConnection(res);
    return;
  }
  res.set('content-length', String(body.length));
  res.write(half, () => res.req.socket.destroySoon());
}
