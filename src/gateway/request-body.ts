import type { IncomingMessage } from 'node:http';
import { Transform, type Readable } from 'node:stream';
import { AppError } from '../errors.ts';
import { createDeferred } from '../promises.ts';
import { RequestAbortedError } from './api-request.ts';

/** Bodies up to this size are kept, so that the request can be repeated with a new token. */
const KEPT_BYTES = 64 * 1024;

/** The minimum number of bytes that a client must send in each period. Any usable connection is faster than 2 KiB/s. */
const MIN_PACE = { bytes: 64 * 1024, periodMs: 30_000 };

/** Returns the error for a body that exceeds MAX_BODY_BYTES, as declared in Content-Length or as received. */
export function bodyTooLarge(maxBytes: number): AppError {
  return new AppError('body_too_large', { detail: `Send at most ${maxBytes} bytes.` });
}

/** A request body that is being sent to the service. */
export type RequestBody = ReturnType<typeof createRequestBody>;

/** Returns whether a request has a body (RFC 9112 §6.3). */
export function hasBody(req: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = req.headers;
  return encoding !== undefined || (length !== undefined && Number(length) > 0);
}

/**
 * Streams a request body in constant memory and keeps a small body so that the request can be repeated. The stream fails if the body
 * exceeds `maxBytes`, arrives more slowly than `pace`, or stops arriving for `silenceMs`. Time during which the service isn't reading is
 * not counted. If the stream closes early, the rest of the body is read and dropped, because an unread body would block the connection.
 */
export function createRequestBody(
  req: IncomingMessage,
  maxBytes: number,
  silenceMs: number,
  pace = MIN_PACE,
) {
  const { 'content-length': length = KEPT_BYTES } = req.headers;
  // Use a single buffer, because keeping many one-byte chunks would take over a hundred times the memory.
  let start = Buffer.allocUnsafe(Math.min(Number(length), KEPT_BYTES));
  let bytes = 0;
  let isWhole = false;
  const startReceived = createDeferred<void>();

  const stream = new Transform({
    readableHighWaterMark: KEPT_BYTES + 1, // large enough to buffer a kept body before anything reads the stream
    transform(chunk: Buffer, _encoding, done) {
      const missing = KEPT_BYTES - bytes;
      bytes += chunk.length;
      silence.refresh();
      if (bytes > maxBytes) {
        done(bodyTooLarge(maxBytes));
        return;
      }
      if (missing > 0) chunk.copy(start, KEPT_BYTES - missing);
      if (missing > 0 && chunk.length >= missing) {
        stream.push(start);
        startReceived.resolve();
      }
      if (chunk.length > missing) {
        start = Buffer.alloc(0); // too large to be repeated
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

  const fail = () => stream.destroy(new RequestAbortedError('the client sends too slowly'));
  const silence = setTimeout(() => {
    // A full stream is waiting for the service, and undici's timeouts limit that wait.
    if (stream.writableNeedDrain) silence.refresh();
    else fail();
  }, silenceMs);
  let bytesAtLastCheck = 0;
  let wasPaused = false;
  req.on('pause', () => {
    wasPaused = true;
  });
  const paceCheck = setInterval(() => {
    const isServiceSlow = wasPaused || stream.writableNeedDrain;
    if (!isServiceSlow && bytes < bytesAtLastCheck + pace.bytes) fail();
    bytesAtLastCheck = bytes;
    wasPaused = false;
  }, pace.periodMs);
  const stopTimers = () => {
    clearTimeout(silence);
    clearInterval(paceCheck);
  };
  req.once('end', stopTimers); // from now on, only the service can be slow
  // The client has disconnected. endApiRequest() (api-request.ts) ends the upstream request.
  req.once('close', () => !req.complete && stream.destroy());

  // After an early response there are no other listeners, and an unhandled error would end the process.
  stream.on('error', () => {});
  stream.once('close', () => {
    stopTimers();
    startReceived.reject(stream.errored ?? new RequestAbortedError());
    req.unpipe(stream).resume();
  });
  startReceived.promise.catch(() => {}); // a request that has ended doesn't handle this rejection
  req.pipe(stream);
  return {
    /** Fails with `body_too_large`, or with RequestAbortedError if the client stops sending. */
    stream: stream as Readable,
    get bytes() {
      return bytes;
    },
    /** Resolves once the first 64 KiB, or the entire body, has arrived. Rejects if the stream fails. */
    startReceived: async () => startReceived.promise,
    /** Returns the complete body, or null if it is larger than 64 KiB or has not fully arrived. */
    whole: (): Buffer | null => (isWhole && bytes <= KEPT_BYTES ? start : null),
  };
}
