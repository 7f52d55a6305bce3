import type { Response } from 'express';

/**
 * Calls `take` with the whole body in place of sending it; status and headers can still be changed. For answers that
 * are sent at once (`res.json`, `res.send`, `res.end` without a callback), and throws where one has begun.
 */
export function replaceAnswer(res: Response, take: (body: Buffer) => void): void {
  const end = res.end.bind(res);
  Object.assign(res, {
    end(chunk?: unknown, encoding?: unknown) {
      if (res.headersSent) throw new Error('This answer has begun: it can no longer be replaced.');
      res.end = end;
      take(toBuffer(chunk, encoding));
      return res;
    },
  });
}

function toBuffer(chunk: unknown, encoding: unknown): Buffer {
  if (Buffer.isBuffer(chunk)) return chunk;
  if (typeof chunk !== 'string') return Buffer.alloc(0);
  return Buffer.from(chunk, typeof encoding === 'string' && Buffer.isEncoding(encoding) ? encoding : 'utf8');
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
