import type { IncomingMessage } from 'node:http';
import { Transform } from 'node:stream';
import type { Readable } from 'node:stream';
import { createDeferred } from '../platform/deferred.ts';

/** Bodies up to this size are kept, so that the call can be repeated with a renewed token. */
const KEPT_BYTES = 64 * 1024;

/** A body that grew past the limit while it was forwarded. */
export class BodyTooLargeError extends Error {
  override readonly name = 'BodyTooLargeError';
  readonly mostBytes: number;

  constructor(mostBytes: number) {
    super('the request body is too large');
    this.mostBytes = mostBytes;
  }
}

/** The browser stopped sending in the middle of a body. */
export class BodyStalledError extends Error {
  override readonly name = 'BodyStalledError';
}

/** A request body on its way to the service. */
export interface RequestBody {
  readonly stream: Readable;
  /** Bytes of it so far. */
  readonly bytes: number;
  /** The whole body once it has been read; null where it is larger than what is kept, or was not read to its end. */
  whole(): Promise<Buffer | null>;
}

/** Whether a request has a body at all (RFC 9112 §6.3). */
export function hasBody(req: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = req.headers;
  return encoding !== undefined || (length !== undefined && Number(length) > 0);
}

/**
 * Streams the body of a request in constant memory and keeps its first bytes. The stream fails with BodyTooLargeError
 * past `mostBytes`, and with BodyStalledError when the browser is silent for `silenceMs` though we could take more.
 * Where it is closed early, the rest is read and dropped: or the connection would be stuck with it.
 */
export function createRequestBody(req: IncomingMessage, mostBytes: number, silenceMs: number): RequestBody {
  const kept: Buffer[] = [];
  let bytes = 0;
  const { promise: whole, resolve } = createDeferred<Buffer | null>();

  // Else whoever waits for it would wait for more of it than is kept.
  if (Number(req.headers['content-length'] ?? 0) > KEPT_BYTES) resolve(null);

  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      silence.refresh();
      if (bytes <= KEPT_BYTES) kept.push(chunk);
      else {
        kept.length = 0;
        resolve(null);
      }
      done(bytes > mostBytes ? new BodyTooLargeError(mostBytes) : null, chunk);
    },
    flush(done) {
      resolve(bytes <= KEPT_BYTES ? Buffer.concat(kept) : null);
      done();
    },
  });
  const silence = setTimeout(() => {
    // Full to the brim it is the service that does not read: undici's time-outs are for that.
    if (stream.writableNeedDrain) silence.refresh();
    else stream.destroy(new BodyStalledError());
  }, silenceMs);
  // All of it is here: how long the service takes for it is not the browser's fault.
  req.once('end', () => clearTimeout(silence));
  req.once('close', () => !req.complete && stream.destroy());

  // Whoever reads it hears of its errors, too. After an early answer nobody does, and that must not end the process.
  stream.on('error', () => {});
  stream.once('close', () => {
    clearTimeout(silence);
    resolve(null);
    req.unpipe(stream).resume();
  });
  req.pipe(stream);
  return {
    stream,
    get bytes() {
      return bytes;
    },
    whole: async () => whole,
  };
}
