import type { IncomingMessage } from 'node:http';
import { Transform, type Readable } from 'node:stream';
import { AppError } from '../errors.ts';
import { createDeferred } from '../promises.ts';
import { RequestAbortedError } from './api-request.ts';

/** Bodies up to this size are kept, so that the request can be repeated with a new token. */
const KEPT_BYTES = 64 * 1024;

/** The least that a client has to send in each period. Any usable connection is faster than 2 KiB a second. */
const MIN_PACE = { bytes: 64 * 1024, periodMs: 30_000 };

/** The response to a body that is larger than MAX_BODY_BYTES, by its Content-Length or as it arrives. */
export function bodyTooLarge(maxBytes: number): AppError {
  return new AppError('body_too_large', { detail: `Send at most ${maxBytes} bytes.` });
}

/** A request body on its way to the service. */
export type RequestBody = ReturnType<typeof createRequestBody>;

/** Whether a request has a body (RFC 9112 §6.3). */
export function hasBody(req: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = req.headers;
  return encoding !== undefined || (length !== undefined && Number(length) > 0);
}

/**
 * Streams the body of a request in constant memory, and keeps its first bytes. The stream fails past `maxBytes`, when nothing
 * arrives for `silenceMs`, and when less than `pace` arrives. Time in which the service reads nothing does not count. When the
 * stream closes early, the rest of the body is read and dropped, because an unread rest would block the connection.
 */
export function createRequestBody(
  req: IncomingMessage,
  maxBytes: number,
  silenceMs: number,
  pace = MIN_PACE,
) {
  const { 'content-length': length = KEPT_BYTES } = req.headers;
  /** One buffer, since chunks of one byte each would take more than a hundred times the memory. */
  let start = Buffer.allocUnsafe(Math.min(Number(length), KEPT_BYTES));
  let bytes = 0;
  let isWhole = false;
  const startReceived = createDeferred<void>();

  const stream = new Transform({
    readableHighWaterMark: KEPT_BYTES + 1, // a kept body fits in, and arrives whole without a reader
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
    // A full stream waits for the service, which undici's timeouts limit.
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
  req.once('end', stopTimers); // from here on only the service can be slow
  // The client disconnected. The upstream request ends in endApiRequest() (api-request.ts).
  req.once('close', () => !req.complete && stream.destroy());

  // After an early response nothing else listens, and an unhandled error would end the process.
  stream.on('error', () => {});
  stream.once('close', () => {
    stopTimers();
    startReceived.reject(stream.errored ?? new RequestAbortedError());
    req.unpipe(stream).resume();
  });
  startReceived.promise.catch(() => {}); // a request that has ended does not wait for it
  req.pipe(stream);
  return {
    /** Fails with `body_too_large`, or with RequestAbortedError when the client stops sending. */
    stream: stream as Readable,
    get bytes() {
      return bytes;
    },
    /** Resolves once the first 64 KiB, or all of it, has arrived. Rejects like the stream. */
    startReceived: async () => startReceived.promise,
    /** Returns the whole body, or null where it is larger than 64 KiB or has not arrived yet. */
    whole: (): Buffer | null => (isWhole && bytes <= KEPT_BYTES ? start : null),
  };
}
