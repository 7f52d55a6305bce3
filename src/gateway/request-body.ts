import type { IncomingMessage } from 'node:http';
import { Transform } from 'node:stream';
import type { Readable } from 'node:stream';
import { createDeferred } from '../promises.ts';
import { AppError } from '../errors.ts';
import { CallAbortedError } from './service-call-errors.ts';

/** Bodies up to this size are kept, so that the call can be repeated with a renewed token. */
const KEPT_BYTES = 64 * 1024;

/** The body is larger than MAX_BODY_BYTES, by its Content-Length or as it arrives. */
export class BodyTooLargeError extends AppError {
  override readonly name = 'BodyTooLargeError';

  constructor(mostBytes: number) {
    super('body_too_large', { detail: `At most ${mostBytes} bytes are forwarded.` });
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
  /**
   * Resolves once the first 64 KiB, or all of it, has arrived. Rejects with BodyTooLargeError, BodyStalledError or
   * CallAbortedError.
   */
  startReceived(): Promise<void>;
  /** The whole body; null where it is larger than 64 KiB, or has not arrived yet. */
  whole(): Buffer | null;
}

/** Whether a request has a body at all (RFC 9112 §6.3). */
export function hasBody(req: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = req.headers;
  return encoding !== undefined || (length !== undefined && Number(length) > 0);
}

/** How fast a body has to arrive. */
interface Pace {
  readonly bytes: number;
  readonly withinMs: number;
}
/** 2 KiB a second: slower than any line that an upload of this size is tried on. */
const PACE: Pace = { bytes: 64 * 1024, withinMs: 30_000 };

/**
 * Streams the body of a request in constant memory and keeps its first bytes. The stream fails with BodyTooLargeError
 * past `mostBytes`. It fails with BodyStalledError when the client sends nothing for `silenceMs`, or less than `pace`; time
 * in which the service reads nothing does not count. Where the stream is closed early, the rest is read and dropped: the
 * connection would be stuck with it.
 */
export function createRequestBody(
  req: IncomingMessage,
  mostBytes: number,
  silenceMs: number,
  pace: Pace = PACE,
): RequestBody {
  const { 'content-length': length = KEPT_BYTES } = req.headers;
  /** The first bytes, in one buffer: as chunks of one byte each they would take more than a hundred times as much. */
  let start = Buffer.allocUnsafe(Math.min(Number(length), KEPT_BYTES));
  let bytes = 0;
  const startReceived = createDeferred<void>();
  let isWhole = false;

  const stream = new Transform({
    readableHighWaterMark: KEPT_BYTES + 1, // so that a kept body arrives to its end before it is read
    transform(chunk: Buffer, _encoding, done) {
      const missing = KEPT_BYTES - bytes;
      bytes += chunk.length;
      silence.refresh();
      if (bytes > mostBytes) {
        done(new BodyTooLargeError(mostBytes));
        return;
      }
      if (missing > 0) chunk.copy(start, KEPT_BYTES - missing);
      if (missing > 0 && chunk.length >= missing) {
        stream.push(start);
        startReceived.resolve();
      }
      if (chunk.length > missing) {
        start = Buffer.alloc(0); // no longer needed
        stream.push(chunk.subarray(Math.max(missing, 0)));
      }
      done();
    },
    flush(done) {
      isWhole = true;
      if (bytes < KEPT_BYTES) {
        start = start.subarray(0, bytes);
        stream.push(start);
      }
      done();
      startReceived.resolve();
    },
  });
  const silence = setTimeout(() => {
    // The stream is full: the service does not read, and undici's timeouts are for that.
    if (stream.writableNeedDrain) silence.refresh();
    else stream.destroy(new BodyStalledError());
  }, silenceMs);

  /** At the last check. */
  let bytesBefore = 0;
  let wasFull = false;
  req.on('pause', () => {
    wasFull = true;
  });
  const paceCheck = setInterval(() => {
    const isServiceSlow = wasFull || stream.writableNeedDrain;
    if (!isServiceSlow && bytes < bytesBefore + pace.bytes) stream.destroy(new BodyStalledError());
    bytesBefore = bytes;
    wasFull = false;
  }, pace.withinMs);
  const stopTimers = () => {
    clearTimeout(silence);
    clearInterval(paceCheck);
  };
  // All of it is here: how long the service takes for it is not the browser's fault.
  req.once('end', stopTimers);
  req.once('close', () => !req.complete && stream.destroy());

  // Whoever reads it hears of its errors, too. After an early answer nobody does, and that must not end the process.
  stream.on('error', () => {});
  stream.once('close', () => {
    stopTimers();
    startReceived.reject(stream.errored ?? new CallAbortedError());
    req.unpipe(stream).resume();
  });
  startReceived.promise.catch(() => {}); // a request that has ended does not wait for it
  req.pipe(stream);
  return {
    stream,
    get bytes() {
      return bytes;
    },
    startReceived: async () => startReceived.promise,
    whole: () => (isWhole && bytes <= KEPT_BYTES ? start : null),
  };
}
