import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { ServiceClient } from '../platform/service-client.ts';
import type { RawHeaders } from './headers.ts';
import { BodyStalledError, BodyTooLargeError } from './request-body.ts';

export interface ServiceRequest {
  readonly method: string;
  /** Path and query, exactly as they came. */
  readonly target: string;
  readonly headers: string[];
  readonly body: Readable | Buffer | null;
}

/** The head of the service's answer. */
export interface ServiceAnswer {
  readonly status: number;
  readonly headers: RawHeaders;
  /**
   * Lets the body flow to the browser, no faster than it reads; its head has been written. Until somebody calls it the
   * answer waits.
   */
  deliver(res: ServerResponse): void;
  /** Ends the call: the body is not wanted. */
  discard(): void;
}

/** Who hears of a call; each is called at most once, `onEnd` or `onFailure` last. */
export interface AnswerReceiver {
  /** The head is here. Early hints and other 1xx are left out. What it throws fails the call. */
  onAnswer(answer: ServiceAnswer): void;
  /** The body has been delivered whole. */
  onEnd(): void;
  /** ServiceCallError, ServiceTimeoutError, or what went wrong on the browser's side. */
  onFailure(error: Error): void;
}

/** One call of the service. */
export interface ServiceCall {
  /** Ends the call wherever it is. */
  abort(): void;
}

/**
 * Sends one request. Follows no redirect, repeats nothing, takes no encoding off. `timeoutMs` bounds the wait for a
 * connection, then for some of the body to be taken, and for the answer's headers from the request fully sent; each
 * fails with a ServiceTimeoutError. undici bounds the silence of the service in the middle of its answer.
 *
 * The receiver is called as the answer's bytes are read, with no promise between: an answer that came in one piece
 * leaves in one.
 */
export function callService(
  client: ServiceClient,
  request: ServiceRequest,
  timeoutMs: number,
  receiver: AnswerReceiver,
): ServiceCall {
  const { method, target: path, headers, body } = request;
  let controller: Dispatcher.DispatchController | null = null;
  let abortedFor: Error | null = null;
  let isDispatching = true;
  let isAnswered = false;
  let hasWritten = false;
  let isBodiless = false;
  let isWhole = false;
  let isOver = false;
  let deliverTo: ServerResponse | null = null;

  const fail = (error: Error) => {
    clearTimeout(patience);
    if (isOver) return;
    isOver = true;
    receiver.onFailure(error);
  };
  const succeed = () => {
    if (isOver) return;
    if (deliverTo === null) {
      isWhole = true; // there is nothing in it to wait with, as in an answer to HEAD
      return;
    }
    isOver = true;
    receiver.onEnd();
  };
  const abort = (reason: Error) => {
    abortedFor ??= reason;
    if (controller === null)
      client.forget(handler); // it still waits for a connection
    else controller.abort(abortedFor);
    fail(abortedFor);
  };
  const tooLate = () => abort(new ServiceTimeoutError());
  // Our own clock: undici's begins anew with each 1xx, and not before there is a connection.
  const patience = setTimeout(tooLate, timeoutMs);

  /** Not flushHeaders(): that writes the head as UTF-8, and its bytes would change. */
  const sendHead = (res: ServerResponse) => {
    if (!hasWritten && !isOver) res.write(NOTHING);
  };

  const handler: Dispatcher.DispatchHandler = {
    onRequestStart(started) {
      controller = started;
      if (abortedFor !== null) {
        started.abort(abortedFor);
        return;
      }
      if (!isDispatching) patience.refresh(); // it has waited for a connection
      if (body === null || Buffer.isBuffer(body)) return;
      // Until it is sent, what counts is that some of it is: a browser that stops sending is found out first
      // (request-body.ts), so that this is the service, which does not read.
      body.on('data', () => {
        if (!isAnswered && !isOver) patience.refresh();
      });
    },
    onResponseStart(started, status) {
      if (status < 200) return;
      isAnswered = true;
      isBodiless = status === 204 || status === 304;
      clearTimeout(patience);
      const answer: ServiceAnswer = {
        status,
        headers: toRawHeaders(started.rawHeaders),
        deliver(res) {
          if (isOver) {
            res.destroy(); // broken off while it waited
            return;
          }
          deliverTo = res;
          if (isWhole) {
            succeed();
            return;
          }
          process.nextTick(sendHead, res);
          if (started.paused) started.resume();
        },
        discard: () => abort(new CallAbortedError()),
      };
      try {
        receiver.onAnswer(answer);
      } catch (error) {
        abort(error instanceof Error ? error : new Error('not an Error', { cause: error }));
        return;
      }
      if (deliverTo === null && !isOver) started.pause();
    },
    onResponseData(started, chunk) {
      const res = deliverTo;
      hasWritten = true;
      if (res?.write(chunk) === false) resumeWhenRead(started, res);
    },
    onResponseEnd: succeed,
    onResponseError(_controller, error) {
      // undici waits for as many bytes as its Content-Length tells, which is what a 200 would have (RFC 9110 §8.6).
      if (isBodiless && 'code' in error && error.code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH') {
        succeed();
        return;
      }
      fail(isOurs(error) ? error : new ServiceCallError(error));
    },
  };
  client.dispatch({ path, method, headers, body }, handler);
  isDispatching = false;
  return { abort: () => abort(new CallAbortedError()) };
}

const NOTHING = Buffer.alloc(0);

/** Holds the service's answer back until the browser has read on; one that never does is cut off (slow-readers.ts). */
function resumeWhenRead(controller: Dispatcher.DispatchController, res: ServerResponse): void {
  controller.pause();
  const goOn = () => {
    res.off('drain', goOn).off('close', goOn);
    if (!res.destroyed) controller.resume();
  };
  res.once('drain', goOn).once('close', goOn);
}

/** Ours: the browser has left, or the answer is not wanted any more. */
export class CallAbortedError extends Error {
  override readonly name = 'CallAbortedError';
}

/** Out of time by our own clock. */
export class ServiceTimeoutError extends Error {
  override readonly name = 'ServiceTimeoutError';
}

/** The service could not be reached, was too slow, or answered what is not HTTP. */
export class ServiceCallError extends Error {
  override readonly name = 'ServiceCallError';

  constructor(cause: Error) {
    super('the call to the service failed', { cause });
  }
}

const OURS = [CallAbortedError, ServiceTimeoutError, BodyTooLargeError, BodyStalledError];

function isOurs(error: Error): boolean {
  return OURS.some((known) => error instanceof known);
}

function toRawHeaders(raw: Dispatcher.DispatchController['rawHeaders']): RawHeaders {
  return Array.isArray(raw)
    ? raw.map((part) => (typeof part === 'string' ? part : part.toString('latin1')))
    : [];
}
